// The parameters of a family for one problem and device: names and legal values, in the order in which the
// script lists them, which is the order of canonical configurations.
#ifndef GT_GENERATOR_PARAMETERS_H
#define GT_GENERATOR_PARAMETERS_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generator/configuration.h"

typedef struct {
  char *text; // as in configurations
  bool is_integer;
  int64_t integer; // when is_integer
} gt_value;

typedef struct {
  char *name;
  gt_value *values; // n_values that make the space, then those that are legal only when a configuration asks
                    // for them
  size_t n_values, n_legal;
} gt_parameter;

typedef struct {
  gt_parameter list[GT_MAX_PARAMETERS];
  size_t count;
  size_t choice[GT_MAX_PARAMETERS]; // a value's index for each parameter: the current combination
} gt_parameters;

void gt_parameters_free(gt_parameters *parameters);

// The current combination as a canonical configuration. The caller frees it.
char *gt_parameters_print(const gt_parameters *parameters, const char *family);

// Goes to the next combination, the last parameter changing fastest. False after the last one.
bool gt_parameters_advance(gt_parameters *parameters);

// Makes a configuration the current combination. GT_USAGE in one line that lists what is legal, when it is
// none.
gt_status gt_parameters_choose(gt_parameters *parameters, const gt_configuration *configuration,
                               gt_error *error);

// For use within the body of a request (family.h):

// Asks the script for the parameters, and stores them in the request.
void gt_parameters_read(lua_State *L);
// Writes the current combination into the values that scripts see.
void gt_parameters_show(lua_State *L);
// Makes the family's default the current combination, and shows it. Raises GT_TEMPLATE when it is not in the
// space.
void gt_parameters_choose_default(lua_State *L);

#endif
