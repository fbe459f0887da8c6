#include "generator/parameters.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/family.h"

void gt_parameters_free(gt_parameters *parameters) {
  for (size_t i = 0; i < parameters->count; i++) {
    gt_parameter *parameter = &parameters->list[i];
    for (size_t j = 0; j < parameter->n_legal; j++) free(parameter->values[j].text);
    free(parameter->values);
    free(parameter->name);
  }
  *parameters = (gt_parameters){0};
}

char *gt_parameters_print(const gt_parameters *parameters, const char *family) {
  char *names[GT_MAX_PARAMETERS], *values[GT_MAX_PARAMETERS];
  for (size_t i = 0; i < parameters->count; i++) {
    names[i] = parameters->list[i].name;
    values[i] = parameters->list[i].values[parameters->choice[i]].text;
  }
  gt_configuration configuration = {(char *)family, names, values, parameters->count};
  return gt_configuration_print(&configuration);
}

bool gt_parameters_advance(gt_parameters *parameters) {
  for (size_t i = parameters->count; i-- > 0;) {
    if (++parameters->choice[i] < parameters->list[i].n_values) return true;
    parameters->choice[i] = 0;
  }
  return false;
}

// The index of the value with that text, or n_legal.
static size_t find_value(const gt_parameter *parameter, const char *text) {
  size_t j = 0;
  while (j < parameter->n_legal && strcmp(parameter->values[j].text, text) != 0) j++;
  return j;
}

static size_t find_parameter(const gt_parameters *parameters, const char *name) {
  size_t i = 0;
  while (i < parameters->count && strcmp(parameters->list[i].name, name) != 0) i++;
  return i;
}

static gt_status refuse_parameter(const gt_parameters *parameters, const gt_configuration *configuration,
                                  const char *name, const char *problem, gt_error *error) {
  gt_buffer names = {0};
  for (size_t i = 0; i < parameters->count; i++)
    gt_buffer_print(&names, "%s%s", i ? ", " : "", parameters->list[i].name);
  gt_fail(error, GT_USAGE, "%s: %s parameter '%s'; parameters are: %s", configuration->family, problem, name,
          names.data ? names.data : "none");
  gt_buffer_free(&names);
  return GT_USAGE;
}

static gt_status refuse_value(const gt_parameter *parameter, const gt_configuration *configuration,
                              const char *value, gt_error *error) {
  gt_buffer values = {0};
  for (size_t j = 0; j < parameter->n_legal; j++)
    gt_buffer_print(&values, "%s%s", j ? ", " : "", parameter->values[j].text);
  gt_fail(error, GT_USAGE, "%s: parameter '%s' cannot be '%s' here; legal values are: %s",
          configuration->family, parameter->name, value, values.data);
  gt_buffer_free(&values);
  return GT_USAGE;
}

gt_status gt_parameters_choose(gt_parameters *parameters, const gt_configuration *configuration,
                               gt_error *error) {
  for (size_t i = 0; i < configuration->count; i++)
    if (find_parameter(parameters, configuration->names[i]) == parameters->count)
      return refuse_parameter(parameters, configuration, configuration->names[i], "unknown", error);
  for (size_t i = 0; i < parameters->count; i++) {
    const gt_parameter *parameter = &parameters->list[i];
    const char *value = gt_configuration_get(configuration, parameter->name);
    if (!value) return refuse_parameter(parameters, configuration, parameter->name, "missing", error);
    parameters->choice[i] = find_value(parameter, value);
    if (parameters->choice[i] == parameter->n_legal)
      return refuse_value(parameter, configuration, value, error);
  }
  return GT_OK;
}

// ---- between Lua and C

// The text of the value at `index`, and what it is; false for what cannot be a parameter's value.
static bool read_value(lua_State *L, int index, gt_value *value) {
  *value = (gt_value){0};
  if (gt_read_integer(L, index, INT64_MIN, &value->integer)) {
    value->is_integer = true;
    value->text = gt_print("%lld", (long long)value->integer);
    return true;
  }
  if (lua_type(L, index) != LUA_TSTRING) return false;
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (!gt_is_value(text, length)) return false;
  value->text = gt_strdup(text);
  return true;
}

// Reads the list of values on top of the stack, and takes it off.
static void read_values(lua_State *L, const gt_family *family, gt_parameter *parameter) {
  gt_value value;
  for (lua_Integer j = 1; lua_rawgeti(L, -1, j) != LUA_TNIL; j++, lua_pop(L, 1)) {
    if (!read_value(L, -1, &value))
      gt_family_fault(L, family, "parameters",
                      "value %lld of '%s' is neither an integer nor a string of [a-z0-9_.-]", (long long)j,
                      parameter->name);
    bool again = find_value(parameter, value.text) < parameter->n_legal;
    parameter->values = gt_realloc(parameter->values, (parameter->n_legal + 1) * sizeof *parameter->values);
    parameter->values[parameter->n_legal++] = value;
    if (again)
      gt_family_fault(L, family, "parameters", "value '%s' of '%s' is listed twice", value.text,
                      parameter->name);
  }
  lua_pop(L, 2);
}

void gt_parameters_read(lua_State *L) {
  static const char *const fields[] = {"name", "values", "on_request", NULL};
  gt_request *request = lua_touserdata(L, GT_AT_REQUEST);
  const gt_family *family = request->family;
  gt_parameters *parameters = &request->parameters;
  gt_request_call(L, request, "parameters", false, 1);
  if (!lua_istable(L, -1))
    gt_family_fault(L, family, "parameters", "returns a %s, not a list", luaL_typename(L, -1));
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    // On the stack, from the top: values, values on request, name, entry.
    if (!lua_istable(L, -1) || gt_unknown_field(L, -1, fields) ||
        lua_getfield(L, -1, "name") != LUA_TSTRING ||
        (lua_getfield(L, -2, "on_request") != LUA_TTABLE && !lua_isnil(L, -1)) ||
        lua_getfield(L, -3, "values") != LUA_TTABLE)
      gt_family_fault(L, family, "parameters",
                      "entry %lld is not of the form {name=\"…\", values={…} [, on_request={…}]}",
                      (long long)i);
    size_t length;
    const char *name = lua_tolstring(L, -3, &length);
    if (!gt_is_name(name, length))
      gt_family_fault(L, family, "parameters", "'%s' is no name for a parameter ([a-z][a-z0-9_]*)", name);
    if (find_parameter(parameters, name) < parameters->count)
      gt_family_fault(L, family, "parameters", "'%s' is listed twice", name);
    if (parameters->count == GT_MAX_PARAMETERS)
      gt_family_fault(L, family, "parameters", "more than %d", GT_MAX_PARAMETERS);
    gt_parameter *parameter = &parameters->list[parameters->count++];
    parameter->name = gt_strdup(name);
    read_values(L, family, parameter);
    parameter->n_values = parameter->n_legal;
    if (!parameter->n_values) gt_family_fault(L, family, "parameters", "'%s' has no values", name);
    if (lua_istable(L, -1))
      read_values(L, family, parameter);
    else
      lua_pop(L, 1);
    lua_pop(L, 2);
  }
  lua_settop(L, GT_AT_TOP);
}

void gt_parameters_show(lua_State *L) {
  const gt_parameters *parameters = &((gt_request *)lua_touserdata(L, GT_AT_REQUEST))->parameters;
  for (size_t i = 0; i < parameters->count; i++) {
    const gt_value *value = &parameters->list[i].values[parameters->choice[i]];
    if (value->is_integer)
      lua_pushinteger(L, value->integer);
    else
      lua_pushstring(L, value->text);
    lua_setfield(L, GT_AT_VALUES, parameters->list[i].name);
  }
}

void gt_parameters_choose_default(lua_State *L) {
  gt_request *request = lua_touserdata(L, GT_AT_REQUEST);
  const gt_family *family = request->family;
  gt_parameters *parameters = &request->parameters;
  gt_request_call(L, request, "default", false, 1);
  if (!lua_istable(L, -1))
    gt_family_fault(L, family, "default", "returns a %s, not a table", luaL_typename(L, -1));
  size_t given = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number or other key";
    if (find_parameter(parameters, name) == parameters->count)
      gt_family_fault(L, family, "default", "unknown parameter '%s'", name);
    given++;
  }
  for (size_t i = 0; i < parameters->count; i++) {
    gt_parameter *parameter = &parameters->list[i];
    gt_value value;
    lua_getfield(L, -1, parameter->name);
    if (lua_isnil(L, -1)) gt_family_fault(L, family, "default", "lacks parameter '%s'", parameter->name);
    bool legal = read_value(L, -1, &value);
    parameters->choice[i] = legal ? find_value(parameter, value.text) : parameter->n_legal;
    free(value.text);
    if (parameters->choice[i] >= parameter->n_values) {
      parameters->choice[i] = 0;
      gt_family_fault(L, family, "default", "'%s' has a value that parameters() does not list",
                      parameter->name);
    }
    lua_pop(L, 1);
  }
  gt_parameters_show(L);
  const char *why = gt_request_broken_constraint(L, request);
  if (why) gt_family_fault(L, family, "default", "breaks the constraint '%s'", why);
  lua_settop(L, GT_AT_TOP);
}
