#include "generator/tiling_view.h"

#include <lauxlib.h>

#include "generator/script.h"
#include "generator/tiling.h"

#define MOST_SIZE 4096    // inputs of a tile
#define MOST_STARTS 65536 // so many starts as a table: more could not stand in a kernel
#define STEPS 4           // of work, as long as an instruction of the interpreter

static int free_tiling(lua_State *L) {
  gt_tiling_free(lua_touserdata(L, 1));
  return 0;
}

// A tiling that goes when nobody has it any more, however the running function ends.
static gt_tiling *push_owned(lua_State *L) {
  gt_tiling *tiling = lua_newuserdatauv(L, sizeof *tiling, 0);
  *tiling = (gt_tiling){0};
  if (luaL_newmetatable(L, "tiling")) {
    lua_pushcfunction(L, free_tiling);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return tiling;
}

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

// Numbers from 0 on.
static void set_list(lua_State *L, const char *name, const int64_t *list, int64_t count) {
  lua_createtable(L, (int)count, 1);
  for (int64_t i = 0; i < count; i++) {
    lua_pushinteger(L, list[i]);
    lua_rawseti(L, -2, i);
  }
  lua_setfield(L, -2, name);
}

static void set_line(lua_State *L, const gt_tiling_line *line, int64_t multiple) {
  lua_createtable(L, 0, 5);
  set_integer(L, "multiple", multiple);
  set_integer(L, "slope", line->slope);
  set_integer(L, "bias", line->bias);
  set_integer(L, "shift", line->shift);
  if (line->bounded) set_integer(L, "most", line->most);
  lua_setfield(L, -2, "line");
}

// As lib/tiling.lua says: step and offset, or starts, maybe on a line.
static void set_starts(lua_State *L, const gt_tiling *tiling, const gt_axis *axis) {
  set_integer(L, "first_start", gt_tiling_start(tiling, axis, 0));
  set_integer(L, "last_start", gt_tiling_start(tiling, axis, tiling->tiles - 1));
  if (tiling->form == GT_TILING_AFFINE) {
    set_integer(L, "step", tiling->step);
    set_integer(L, "offset", tiling->offset);
    return;
  }
  if (tiling->form == GT_TILING_LINE) set_line(L, &tiling->line, tiling->multiple);
  int64_t count = tiling->tiles <= MOST_STARTS ? tiling->tiles : 0;
  lua_createtable(L, (int)count, 1);
  for (int64_t tile = 0; tile < count; tile++) {
    lua_pushinteger(L, gt_tiling_start(tiling, axis, tile));
    lua_rawseti(L, -2, tile);
  }
  lua_setfield(L, -2, "starts");
}

static void push_entry(lua_State *L, const gt_tiling_entry *entry, size_t slot) {
  lua_createtable(L, 0, 6);
  set_integer(L, "j", entry->j);
  set_integer(L, "c", entry->c);
  set_integer(L, "slot", (int64_t)slot);
  lua_pushnumber(L, entry->value);
  lua_setfield(L, -2, "value");
  lua_pushboolean(L, entry->sometimes_zero);
  lua_setfield(L, -2, "sometimes_zero");
  lua_createtable(L, entry->n_exceptions, 0);
  for (int i = 0; i < entry->n_exceptions; i++) {
    lua_createtable(L, 0, 2);
    set_integer(L, "tile", entry->exceptions[i].tile);
    lua_pushnumber(L, entry->exceptions[i].value);
    lua_setfield(L, -2, "value");
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "exceptions");
}

static void push_table(lua_State *L, const gt_tiling *tiling, const gt_axis *axis) {
  lua_createtable(L, 0, 16);
  set_integer(L, "size", tiling->size);
  set_integer(L, "tiles", tiling->tiles);
  set_integer(L, "width", tiling->width);
  set_starts(L, tiling, axis);
  set_list(L, "low", tiling->low, tiling->size);
  set_list(L, "high", tiling->high, tiling->size);
  lua_pushboolean(L, tiling->literal);
  lua_setfield(L, -2, "literal");
  lua_createtable(L, (int)tiling->n_entries, 0);
  for (size_t i = 0; i < tiling->n_entries; i++) {
    push_entry(L, &tiling->entries[i], i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "entries");
}

int gt_tiling_push(lua_State *L, const gt_axis *axis) {
  gt_script *script = gt_script_of(L);
  lua_Integer size = luaL_checkinteger(L, 1);
  bool zeros = lua_toboolean(L, 2), outside = lua_toboolean(L, 3);
  lua_Integer multiple = luaL_optinteger(L, 4, 1);
  gt_error error;
  if (size < 1 || size > MOST_SIZE)
    return gt_script_raise(L, GT_TEMPLATE, "tiling: tiles of %lld inputs, and not 1 to %d", (long long)size,
                           MOST_SIZE);
  if (multiple < 1 || multiple > MOST_SIZE || (multiple > 1 && !outside))
    return gt_script_raise(L, GT_TEMPLATE, "tiling: starts at multiples of %lld%s", (long long)multiple,
                           outside ? "" : " that may not lie outside of the axis");
  gt_tiling *tiling = push_owned(L);
  int64_t left = script->limits.work - script->work;
  gt_status status = gt_tiling_make(axis, size, zeros, outside, multiple, left * STEPS, tiling, &error);
  gt_script_charge(L, tiling->work / STEPS);
  if (status != GT_OK) return gt_script_raise(L, GT_TEMPLATE, "tiling: %s", error.text);
  push_table(L, tiling, axis);
  gt_tiling_free(tiling); // not when the collector finds time
  return 1;
}
