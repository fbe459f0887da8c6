#include "generator/family.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/view.h"

int gt_family_fault(lua_State *L, const gt_family *family, const char *field, const char *format, ...) {
  char text[sizeof((gt_error *)0)->text], line[16] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (family->table != LUA_NOREF) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, family->table);
    lua_pushstring(L, field);
    if (lua_rawget(L, -2) == LUA_TFUNCTION) {
      lua_Debug function;
      lua_getinfo(L, ">S", &function);
      if (function.linedefined > 0) snprintf(line, sizeof line, ":%d", function.linedefined);
    }
  }
  return gt_script_raise(L, GT_TEMPLATE, "%s%s: %s: %s", family->script->name, line, field, text);
}

const char *gt_unknown_field(lua_State *L, int index, const char *const *fields) {
  index = lua_absindex(L, index);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    size_t i = 0;
    if (lua_type(L, -2) != LUA_TSTRING) return "a number or other key";
    while (fields[i] && strcmp(fields[i], lua_tostring(L, -2)) != 0) i++;
    if (!fields[i]) return lua_tostring(L, -2);
  }
  return NULL;
}

bool gt_read_integer(lua_State *L, int index, int64_t minimum, int64_t *value) {
  int is_integer;
  if (lua_type(L, index) != LUA_TNUMBER) return false; // and no string that looks like one
  *value = lua_tointegerx(L, index, &is_integer);
  return is_integer && *value >= minimum;
}

// ---- loading

static void check_constraints(lua_State *L, const gt_family *family) {
  static const char *const fields[] = {"why", "ok", NULL};
  int type = lua_getfield(L, GT_AT_FAMILY, "constraints");
  if (type == LUA_TNIL) return;
  if (type != LUA_TTABLE) gt_family_fault(L, family, "constraints", "not a list");
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    if (!lua_istable(L, -1) || gt_unknown_field(L, -1, fields) || lua_getfield(L, -1, "why") != LUA_TSTRING ||
        lua_getfield(L, -2, "ok") != LUA_TFUNCTION)
      gt_family_fault(L, family, "constraints", "entry %lld is not of the form {why=\"…\", ok=function}",
                      (long long)i);
    lua_pop(L, 3);
  }
}

static void check_fields(lua_State *L, const gt_family *family) {
  static const char *const fields[] = {"role",    "form",     "description", "reproducible", "claims",
                                       "parameters", "default", "launches",    "workspace",    "bindings",
                                       "constraints", "work",   NULL};
  static const struct {
    const char *name;
    bool required;
  } functions[] = {{"claims", true},   {"parameters", true}, {"default", true},
                   {"launches", true}, {"workspace", false}, {"bindings", false},
                   {"work", false}};
  const char *unknown = gt_unknown_field(L, GT_AT_FAMILY, fields);
  if (unknown) gt_family_fault(L, family, unknown, "a family has no such field");
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    int type = lua_getfield(L, GT_AT_FAMILY, functions[i].name);
    if (type != LUA_TFUNCTION && (type != LUA_TNIL || functions[i].required))
      gt_family_fault(L, family, functions[i].name, "is a %s, not a function", lua_typename(L, type));
  }
  int type = lua_getfield(L, GT_AT_FAMILY, "reproducible");
  if (type != LUA_TFUNCTION && type != LUA_TNIL && type != LUA_TBOOLEAN)
    gt_family_fault(L, family, "reproducible", "is a %s, not a boolean or a function", lua_typename(L, type));
  lua_settop(L, GT_AT_FAMILY);
  check_constraints(L, family);
}

static gt_family_role check_role(lua_State *L, const gt_family *family) {
  static const char *const roles[] = {
      [GT_ROLE_CANDIDATE] = "candidate", [GT_ROLE_BASELINE] = "baseline", [GT_ROLE_BOUND] = "bound"};
  if (lua_getfield(L, GT_AT_FAMILY, "role") == LUA_TSTRING)
    for (int i = 0; i <= GT_ROLE_BOUND; i++)
      if (strcmp(lua_tostring(L, -1), roles[i]) == 0) return (gt_family_role)i;
  gt_family_fault(L, family, "role", "must be \"candidate\", \"baseline\" or \"bound\"");
  return GT_ROLE_CANDIDATE;
}

static gt_form check_form(lua_State *L, const gt_family *family) {
  int type = lua_getfield(L, GT_AT_FAMILY, "form");
  if (type == LUA_TSTRING && strcmp(lua_tostring(L, -1), "grid") == 0) return GT_FORM_GRID;
  if (type != LUA_TNIL && (type != LUA_TSTRING || strcmp(lua_tostring(L, -1), "separable") != 0))
    gt_family_fault(L, family, "form", "must be \"separable\" (the default) or \"grid\"");
  return GT_FORM_SEPARABLE;
}

int gt_family_load(lua_State *L) {
  gt_family *family = lua_touserdata(L, 1);
  gt_script_load(L, family->script->text, family->script->length, family->script->name);
  lua_call(L, 0, 1);
  if (!lua_istable(L, GT_AT_FAMILY))
    return gt_script_raise(L, GT_TEMPLATE, "%s: returns a %s, not the table of a family",
                           family->script->name, luaL_typename(L, GT_AT_FAMILY));
  lua_pushvalue(L, GT_AT_FAMILY);
  family->table = luaL_ref(L, LUA_REGISTRYINDEX);
  check_fields(L, family);
  family->role = check_role(L, family);
  family->form = check_form(L, family);
  if (lua_getfield(L, GT_AT_FAMILY, "description") != LUA_TSTRING)
    return gt_family_fault(L, family, "description", "must be a string");
  family->description = gt_strdup(lua_tostring(L, -1));
  return 0;
}

// ---- requests

static gt_family *find(const gt_generator *generator, const char *name) {
  for (size_t i = 0; i < generator->count; i++)
    if (strcmp(generator->names[i], name) == 0) return &generator->families[i];
  return NULL;
}

gt_status gt_request_begin(gt_generator *generator, const char *name, const gt_problem *problem,
                           const gt_fingerprint *device, gt_request *request, gt_error *error) {
  gt_family *family = find(generator, name);
  *request = (gt_request){.generator = generator, .family = family, .problem = problem, .device = device};
  if (family && problem && gt_problem_inner(problem) == 0) // templates divide by it
    return gt_fail(error, GT_UNSUPPORTED, "%s: without channels the problem is empty, and has no kernels",
                   name);
  if (family) return GT_OK;
  gt_buffer names = {0};
  for (size_t i = 0; i < generator->count; i++)
    gt_buffer_print(&names, "%s%s", i ? ", " : "", generator->names[i]);
  gt_fail(error, GT_USAGE, "unknown family '%.80s'; families are: %s", name,
          names.data ? names.data : "none");
  gt_buffer_free(&names);
  return GT_USAGE;
}

void gt_request_end(gt_request *request) {
  gt_parameters_free(&request->parameters);
  gt_buffer_free(&request->text);
}

gt_status gt_request_run(gt_request *request, lua_CFunction body, gt_error *error) {
  return gt_script_run(request->generator->script, body, request, request->family->script->name, error);
}

bool gt_request_call(lua_State *L, const gt_request *request, const char *field, bool with_configuration,
                     int results) {
  (void)request;
  luaL_checkstack(L, 8, NULL);
  if (lua_getfield(L, GT_AT_FAMILY, field) != LUA_TFUNCTION) {
    lua_pop(L, 1);
    return false;
  }
  if (with_configuration) lua_pushvalue(L, GT_AT_CONFIGURATION);
  lua_pushvalue(L, GT_AT_PROBLEM);
  lua_pushvalue(L, GT_AT_DEVICE);
  lua_call(L, with_configuration ? 3 : 2, results);
  return true;
}

gt_request *gt_request_enter(lua_State *L) {
  gt_request *request = lua_touserdata(L, GT_AT_REQUEST);
  const gt_family *family = request->family;
  if (family->form != request->problem->op->form)
    gt_script_raise(L, GT_UNSUPPORTED, "%s: %s", family->name,
                    family->form == GT_FORM_GRID ? "samples at the positions of a grid only"
                                                 : "separable operators only");
  lua_rawgeti(L, LUA_REGISTRYINDEX, family->table);
  gt_view_push_problem(L, request->problem);
  gt_view_push_device(L, request->device);
  lua_newtable(L);
  lua_pushvalue(L, GT_AT_VALUES);
  gt_view_push_configuration(L);

  gt_request_call(L, request, "claims", false, 2);
  if (!lua_isboolean(L, -2))
    gt_family_fault(L, family, "claims", "returns a %s, not true or false and why", luaL_typename(L, -2));
  if (!lua_toboolean(L, -2)) {
    if (lua_type(L, -1) != LUA_TSTRING)
      gt_family_fault(L, family, "claims", "returns false without a text that says why");
    gt_script_raise(L, GT_UNSUPPORTED, "%s: %s", family->name, lua_tostring(L, -1));
  }
  lua_settop(L, GT_AT_TOP);
  return request;
}

const char *gt_request_broken_constraint(lua_State *L, const gt_request *request) {
  if (lua_getfield(L, GT_AT_FAMILY, "constraints") == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    lua_getfield(L, -1, "why");
    lua_getfield(L, -2, "ok");
    lua_pushvalue(L, GT_AT_CONFIGURATION);
    lua_pushvalue(L, GT_AT_PROBLEM);
    lua_pushvalue(L, GT_AT_DEVICE);
    lua_call(L, 3, 1);
    if (!lua_isboolean(L, -1))
      gt_family_fault(L, request->family, "constraints", "'%s' returns a %s, not a boolean",
                      lua_tostring(L, -2), luaL_typename(L, -1));
    if (!lua_toboolean(L, -1)) return lua_tostring(L, -2);
    lua_pop(L, 3);
  }
  lua_pop(L, 2);
  return NULL;
}
