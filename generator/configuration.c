#include "generator/configuration.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/variant.h"

static bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool gt_is_name(const char *text, size_t length) {
  if (length == 0 || length > GT_NAME_LIMIT || !is_lower(text[0])) return false;
  for (size_t i = 0; i < length; i++)
    if (!is_lower(text[i]) && !is_digit(text[i]) && text[i] != '_') return false;
  return true;
}

bool gt_is_value(const char *text, size_t length) {
  if (length == 0 || length > GT_VALUE_LIMIT) return false;
  for (size_t i = 0; i < length; i++)
    if (!is_lower(text[i]) && !is_digit(text[i]) && !strchr("_.-", text[i])) return false;
  return true;
}

bool gt_is_kernel_name(const char *text) {
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return length > 0 && length < GT_KERNEL_NAME && !text[length] && !(text[0] >= '0' && text[0] <= '9');
}

static char *copy(const char *text, size_t length) {
  return memcpy(gt_alloc(length + 1), text, length);
}

// Parses one name=value of `length` bytes.
static gt_status parse_assignment(const char *text, size_t length, gt_configuration *configuration,
                                  gt_error *error) {
  const char *equals = memchr(text, '=', length);
  int shown = length > 80 ? 80 : (int)length;
  if (!equals)
    return gt_fail(error, GT_USAGE, "configuration: '%.*s' is not of the form name=value", shown, text);
  size_t name_length = (size_t)(equals - text), value_length = length - name_length - 1;
  if (!gt_is_name(text, name_length))
    return gt_fail(error, GT_USAGE, "configuration: '%.*s' has no parameter name before '='", shown, text);
  if (!gt_is_value(equals + 1, value_length))
    return gt_fail(error, GT_USAGE, "configuration: '%.*s' has no value after '='", shown, text);
  if (configuration->count == GT_MAX_PARAMETERS)
    return gt_fail(error, GT_USAGE, "configuration: more than %d parameters", GT_MAX_PARAMETERS);
  char *name = copy(text, name_length);
  if (gt_configuration_get(configuration, name)) {
    free(name);
    return gt_fail(error, GT_USAGE, "configuration: parameter '%.*s' is given twice", (int)name_length, text);
  }
  configuration->names[configuration->count] = name;
  configuration->values[configuration->count++] = copy(equals + 1, value_length);
  return GT_OK;
}

gt_status gt_configuration_parse(const char *text, gt_configuration *configuration, gt_error *error) {
  gt_status status = GT_OK;
  *configuration = (gt_configuration){0};
  size_t length = strcspn(text, ":");
  if (!gt_is_name(text, length))
    return gt_fail(error, GT_USAGE, "configuration '%.80s' does not start with the name of a family", text);
  configuration->family = copy(text, length);
  configuration->names = gt_alloc(GT_MAX_PARAMETERS * sizeof(char *));
  configuration->values = gt_alloc(GT_MAX_PARAMETERS * sizeof(char *));
  const char *at = text + length;
  if (at[0] == ':' && at[1]) {
    do {
      at++;
      length = strcspn(at, ",");
      status = parse_assignment(at, length, configuration, error);
      at += length;
    } while (status == GT_OK && *at == ',');
  }
  if (status != GT_OK) gt_configuration_free(configuration);
  return status;
}

bool gt_is_configuration(const char *text) {
  gt_configuration configuration;
  if (gt_configuration_parse(text, &configuration, NULL) != GT_OK) return false;
  char *printed = gt_configuration_print(&configuration);
  bool same = strcmp(printed, text) == 0;
  free(printed);
  gt_configuration_free(&configuration);
  return same;
}

void gt_configuration_free(gt_configuration *configuration) {
  for (size_t i = 0; i < configuration->count; i++) {
    free(configuration->names[i]);
    free(configuration->values[i]);
  }
  free(configuration->names);
  free(configuration->values);
  free(configuration->family);
  *configuration = (gt_configuration){0};
}

char *gt_configuration_print(const gt_configuration *configuration) {
  gt_buffer text = {0};
  gt_buffer_print(&text, "%s", configuration->family);
  for (size_t i = 0; i < configuration->count; i++)
    gt_buffer_print(&text, "%c%s=%s", i ? ',' : ':', configuration->names[i], configuration->values[i]);
  return text.data;
}

const char *gt_configuration_get(const gt_configuration *configuration, const char *name) {
  for (size_t i = 0; i < configuration->count; i++)
    if (strcmp(configuration->names[i], name) == 0) return configuration->values[i];
  return NULL;
}
