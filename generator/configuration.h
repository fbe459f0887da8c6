// Configurations as texts: "family:name=value,name=value", or "family" alone for one without parameters.
#ifndef GT_GENERATOR_CONFIGURATION_H
#define GT_GENERATOR_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define GT_MAX_PARAMETERS 64
#define GT_NAME_LIMIT 40  // bytes of a family's or a parameter's name
#define GT_VALUE_LIMIT 64 // bytes of a value

typedef struct {
  char *family;
  char **names, **values; // `count` each, in the order of the text
  size_t count;
} gt_configuration;

// Parses a text without looking at what the family has. GT_USAGE with one line that names the offending part.
gt_status gt_configuration_parse(const char *text, gt_configuration *configuration, gt_error *error);
void gt_configuration_free(gt_configuration *configuration); // harmless on a zeroed one

// The text with the parameters in the order of the configuration. The caller frees it.
char *gt_configuration_print(const gt_configuration *configuration);

// Whether a text parses, and is printed as it is: what is kept and compared. `family:`, for one, is not.
bool gt_is_configuration(const char *text);

// The value of a parameter, or NULL.
const char *gt_configuration_get(const gt_configuration *configuration, const char *name);

// Whether a text may be a name ([a-z][a-z0-9_]*) or a value ([a-z0-9_.-]+).
bool gt_is_name(const char *text, size_t length);
bool gt_is_value(const char *text, size_t length);

// Whether a text may be the name of a kernel: an identifier of C that fits a gt_launch_rule.
bool gt_is_kernel_name(const char *text);

#endif
