#include "generator/sandbox.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "generator/script.h"

// Registry keys: the table of the sandbox's names, the environment of scripts, and what `use` has loaded.
static const char names_key[] = "gathertune.names", script_key[] = "gathertune.script",
                  loaded_key[] = "gathertune.loaded";

// Library functions that may work for long without a single instruction of the interpreter: they are charged
// for their worst case before they run. The function itself is upvalue 1.
static int call_wrapped(lua_State *L) {
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int charged_rep(lua_State *L) {
  lua_Integer times = luaL_checkinteger(L, 2);
  if (times > 0) gt_script_charge(L, times);
  return call_wrapped(L);
}

// A match tries every position, and every repetition in the pattern may try every length.
static int charged_match(lua_State *L) {
  size_t length, pattern_length;
  luaL_checklstring(L, 1, &length);
  const char *pattern = luaL_checklstring(L, 2, &pattern_length);
  double attempts = 1.0 + (double)length;
  for (size_t i = 0; i < pattern_length; i++) {
    if (strchr("*+-", pattern[i])) attempts *= 1.0 + (double)length;
    if (pattern[i] == '?') attempts *= 2;
  }
  double work = attempts * (double)pattern_length /
                4; // a step is cheaper than an instruction, and many attempts are short
  gt_script_charge(L, work < 1e18 ? (int64_t)work : INT64_MAX);
  return call_wrapped(L);
}

static int charge_length(lua_State *L, int times) {
  if (lua_istable(L, 1)) gt_script_charge(L, (int64_t)lua_rawlen(L, 1) * times);
  return call_wrapped(L);
}

static int charged_concat(lua_State *L) {
  return charge_length(L, 1);
}

// At the end of a list nothing is moved.
static int charged_insert(lua_State *L) {
  return charge_length(L, lua_gettop(L) > 2 ? 2 : 0);
}
static int charged_remove(lua_State *L) {
  return charge_length(L, lua_gettop(L) > 1 ? 2 : 0);
}

static int charged_sort(lua_State *L) {
  return charge_length(L, 64);
}

static int charged_move(lua_State *L) {
  lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
  if (to >= from) gt_script_charge(L, from > 0 || to < INT64_MAX + from ? to - from : INT64_MAX);
  return call_wrapped(L);
}

// Addresses differ between processes, so what has only an address is not printed.
static int plain_tostring(lua_State *L) {
  luaL_checkany(L, 1);
  switch (lua_type(L, 1)) {
  case LUA_TNIL:
  case LUA_TBOOLEAN:
  case LUA_TNUMBER:
  case LUA_TSTRING:
    luaL_tolstring(L, 1, NULL);
    break;
  default:
    lua_pushstring(L, luaL_typename(L, 1));
  }
  return 1;
}

static int plain_format(lua_State *L) {
  for (int i = 2; i <= lua_gettop(L); i++)
    if (!lua_isstring(L, i) && !lua_isnil(L, i) && !lua_isboolean(L, i))
      return luaL_error(L, "string.format cannot print a %s", luaL_typename(L, i));
  return call_wrapped(L);
}

// Order of keys: numbers before strings, each ascending. Other keys have no order.
static int key_less(lua_State *L) {
  bool a_number = lua_type(L, 1) == LUA_TNUMBER, b_number = lua_type(L, 2) == LUA_TNUMBER;
  lua_pushboolean(L, a_number != b_number ? a_number : lua_compare(L, 1, 2, LUA_OPLT));
  return 1;
}

// Upvalues: table, sorted keys, index of the last one.
static int next_pair(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(3)) + 1;
  lua_pushinteger(L, i);
  lua_replace(L, lua_upvalueindex(3));
  if (lua_rawgeti(L, lua_upvalueindex(2), i) == LUA_TNIL) return 1;
  lua_pushvalue(L, -1);
  lua_rawget(L, lua_upvalueindex(1));
  return 2;
}

// pairs(t) in a fixed order: Lua's own order depends on a seed that differs between processes. Upvalue 1 is
// table.sort.
static int sorted_pairs(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_newtable(L);
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, 1);) {
    int type = lua_type(L, -2);
    if (type != LUA_TNUMBER && type != LUA_TSTRING)
      return luaL_error(L, "pairs: a key is a %s; only numbers and strings have an order",
                        luaL_typename(L, -2));
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, 2, ++n);
  }
  gt_script_charge(L, n * 24);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 2);
  lua_pushcfunction(L, key_less);
  lua_call(L, 2, 0);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_pair, 3);
  return 1;
}

// next(t): whether anything is in a table, and nothing else: the order of next(t, key) would differ between
// processes.
static int is_not_empty(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!lua_isnoneornil(L, 2)) return luaL_error(L, "next takes a table alone; use pairs to walk through one");
  lua_settop(L, 1);
  lua_pushnil(L);
  if (lua_next(L, 1))
    lua_pushboolean(L, 1);
  else
    lua_pushnil(L);
  return 1;
}

typedef struct {
  const char *name;      // NULL ends a list
  lua_CFunction wrapper; // stands before the function; NULL: the function itself
} permitted;

static const permitted base_names[] = {
    {"assert", NULL},        {"error", NULL},  {"ipairs", NULL},   {"next", is_not_empty},
    {"pairs", sorted_pairs}, {"select", NULL}, {"tonumber", NULL}, {"tostring", plain_tostring},
    {"type", NULL},          {NULL, NULL},
};
static const permitted string_names[] = {
    {"byte", NULL},
    {"char", NULL},
    {"find", charged_match},
    {"format", plain_format},
    {"gmatch", charged_match},
    {"gsub", charged_match},
    {"len", NULL},
    {"lower", NULL},
    {"match", charged_match},
    {"rep", charged_rep},
    {"reverse", NULL},
    {"sub", NULL},
    {"upper", NULL},
    {NULL, NULL},
};
static const permitted table_names[] = {
    {"concat", charged_concat}, {"insert", charged_insert}, {"move", charged_move}, {"pack", NULL},
    {"remove", charged_remove}, {"sort", charged_sort},     {"unpack", NULL},       {NULL, NULL},
};
// Without random: rendering must repeat.
static const permitted math_names[] = {
    {"abs", NULL},        {"ceil", NULL}, {"exp", NULL}, {"floor", NULL},      {"fmod", NULL},
    {"huge", NULL},       {"log", NULL},  {"max", NULL}, {"maxinteger", NULL}, {"min", NULL},
    {"mininteger", NULL}, {"modf", NULL}, {"pi", NULL},  {"sqrt", NULL},       {"tointeger", NULL},
    {"type", NULL},       {"ult", NULL},  {NULL, NULL},
};

// Upvalue 1: what has no such key, "name" or "field of math".
static int unknown_key(lua_State *L) {
  const char *owner = lua_tostring(L, lua_upvalueindex(1));
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
  if (!owner) return gt_script_raise(L, GT_TEMPLATE, "unknown name '%s'", key);
  return gt_script_raise(L, GT_TEMPLATE, "unknown field '%s' of %s", key, owner);
}

static int assign_global(lua_State *L) {
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
  return gt_script_raise(L, GT_TEMPLATE, "assignment to global '%s' (declare it local)", key);
}

static int assign_field(lua_State *L) {
  return gt_script_raise(L, GT_TEMPLATE, "assignment to a field of %s, which is read-only",
                         lua_tostring(L, lua_upvalueindex(1)));
}

// Makes reads of keys that the table on top lacks an error. `owner` NULL: of a name.
static void make_strict(lua_State *L, const char *owner) {
  lua_newtable(L);
  lua_pushstring(L, owner); // nil for NULL
  lua_pushcclosure(L, unknown_key, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

// Replaces the table on top by an empty one that reads from it and refuses writes with the function on top of
// it.
static void make_read_only(lua_State *L) {
  lua_newtable(L); // table, refuse, proxy
  lua_newtable(L); // … metatable
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "__newindex");
  lua_pushvalue(L, -4);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

// Copies the permitted names from the library table on top into a new table, and leaves that one instead.
static void restrict_library(lua_State *L, const permitted *names) {
  lua_newtable(L);
  for (; names->name; names++) {
    lua_getfield(L, -2, names->name);
    if (names->wrapper == sorted_pairs) {
      lua_pop(L, 1);
      luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
      lua_getfield(L, -1, "sort");
      lua_remove(L, -2);
    }
    if (names->wrapper) lua_pushcclosure(L, names->wrapper, 1);
    lua_setfield(L, -2, names->name);
  }
  lua_remove(L, -2);
}

// Adds a library, read-only, to the names on top.
static void add_library(lua_State *L, const char *name, lua_CFunction open, const permitted *names) {
  luaL_requiref(L, name, open, 0);
  restrict_library(L, names);
  make_strict(L, name);
  lua_pushstring(L, name);
  lua_pushcclosure(L, assign_field, 1);
  make_read_only(L);
  lua_setfield(L, -2, name);
}

void gt_sandbox_make_environment(lua_State *L) {
  lua_newtable(L);
  lua_getfield(L, LUA_REGISTRYINDEX, names_key);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pushcfunction(L, assign_global);
  make_read_only(L);
}

void gt_sandbox_push_script_environment(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, script_key);
}

bool gt_sandbox_has(lua_State *L, const char *name) {
  lua_getfield(L, LUA_REGISTRYINDEX, names_key);
  lua_pushstring(L, name);
  bool has = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return has;
}

// use "name": the value of templates/lib/name.lua, which is run once. While it runs its place is held by
// `false`.
static int use(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, loaded_key);
  int type = lua_getfield(L, 2, name);
  if (type == LUA_TBOOLEAN) return gt_script_raise(L, GT_TEMPLATE, "library '%s' uses itself", name);
  if (type != LUA_TNIL) return 1;
  char *file_name = (char *)lua_pushfstring(L, "lib/%s.lua", name);
  const gt_template_file *file = gt_templates_find(gt_script_of(L)->templates, file_name);
  if (!file) return gt_script_raise(L, GT_TEMPLATE, "no library '%s' (%s)", name, file_name);
  lua_pushboolean(L, 0);
  lua_setfield(L, 2, name);
  gt_script_load(L, file->text, file->length, file_name);
  lua_call(L, 0, 1);
  if (!lua_istable(L, -1) && !lua_isfunction(L, -1))
    return gt_script_raise(L, GT_TEMPLATE, "%s returns a %s, not a table or a function", file_name,
                           luaL_typename(L, -1));
  lua_pushvalue(L, -1);
  lua_setfield(L, 2, name);
  return 1;
}

int gt_sandbox_open(lua_State *L) {
  luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
  restrict_library(L, base_names);
  add_library(L, LUA_STRLIBNAME, luaopen_string, string_names);
  add_library(L, LUA_TABLIBNAME, luaopen_table, table_names);
  add_library(L, LUA_MATHLIBNAME, luaopen_math, math_names);

  // Methods of strings go through the restricted library, too.
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_getfield(L, -3, LUA_STRLIBNAME);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);

  make_strict(L, NULL);
  lua_setfield(L, LUA_REGISTRYINDEX, names_key);
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, loaded_key);

  lua_newtable(L);
  lua_pushcfunction(L, use);
  lua_setfield(L, -2, "use");
  gt_sandbox_make_environment(L);
  lua_setfield(L, LUA_REGISTRYINDEX, script_key);
  return 0;
}
