// What a family's script says about running a variant: launches, workspace, and whether results repeat.
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/family.h"

enum { BLOCK_LIMIT = 1 << 16 }; // threads; no device takes more

// Reads up to n integers from a list, or a single one from a number, at the top of the stack; the others keep
// their values.
static bool read_list(lua_State *L, size_t n, int64_t minimum, int64_t *values) {
  if (lua_type(L, -1) == LUA_TNUMBER) return gt_read_integer(L, -1, minimum, &values[0]);
  if (!lua_istable(L, -1)) return false;
  size_t length = lua_rawlen(L, -1);
  bool ok = length >= 1 && length <= n;
  for (size_t i = 0; ok && i < length; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    ok = gt_read_integer(L, -1, minimum, &values[i]);
    lua_pop(L, 1);
  }
  return ok;
}

// Reads the entry on top of the stack.
static void read_launch(lua_State *L, const gt_request *request, int number, gt_launch_rule *rule) {
  static const char *const fields[] = {"kernel", "block", "blocks", NULL};
  const gt_family *family = request->family;
  const char *unknown = lua_istable(L, -1) ? gt_unknown_field(L, -1, fields) : "";
  if (unknown)
    gt_family_fault(L, family, "launches", "entry %d is not of the form {kernel=…, block=…, blocks=…}%s%s",
                    number, *unknown ? "; unknown field " : "", unknown);
  const char *kernel = lua_getfield(L, -1, "kernel") == LUA_TSTRING ? lua_tostring(L, -1) : "";
  if (!gt_is_kernel_name(kernel))
    gt_family_fault(L, family, "launches", "entry %d has no kernel name", number);
  memcpy(rule->kernel, kernel, strlen(kernel) + 1);
  lua_pop(L, 1);

  int64_t block[3] = {1, 1, 1}, limit = BLOCK_LIMIT;
  if (request->device->max_threads_per_block > 0 && request->device->max_threads_per_block < limit)
    limit = request->device->max_threads_per_block;
  lua_getfield(L, -1, "block");
  if (!read_list(L, 3, 1, block))
    gt_family_fault(L, family, "launches", "block of %s is not a list of one to three integers", kernel);
  lua_pop(L, 1);
  if (block[0] > limit || block[1] > limit || block[2] > limit || block[0] * block[1] * block[2] > limit)
    gt_family_fault(L, family, "launches", "block of %s: %lldx%lldx%lld threads, the device takes %lld",
                    kernel, (long long)block[0], (long long)block[1], (long long)block[2], (long long)limit);
  for (int i = 0; i < 3; i++) rule->block[i] = (uint32_t)block[i];

  int64_t blocks[2] = {0, 1};
  lua_getfield(L, -1, "blocks");
  if (!read_list(L, 2, 0, blocks) || blocks[1] < 1)
    gt_family_fault(L, family, "launches", "blocks of %s is not {numerator, denominator}", kernel);
  lua_pop(L, 1);
  rule->blocks_num = blocks[0];
  rule->blocks_den = blocks[1];
}

static void read_launches(lua_State *L, const gt_request *request, gt_variant *variant) {
  gt_request_call(L, request, "launches", true, 1);
  size_t count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  if (count < 1 || count > GT_MAX_LAUNCHES)
    gt_family_fault(L, request->family, "launches", "is not a list of one to %d launches", GT_MAX_LAUNCHES);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    read_launch(L, request, (int)i + 1, &variant->launches[i]);
    lua_pop(L, 1);
  }
  variant->n_launches = (int)count;
}

static bool read_reproducible(lua_State *L, const gt_request *request) {
  if (!gt_request_call(L, request, "reproducible", true, 1))
    return lua_getfield(L, GT_AT_FAMILY, "reproducible") == LUA_TNIL || lua_toboolean(L, -1);
  if (!lua_isboolean(L, -1))
    gt_family_fault(L, request->family, "reproducible", "returns a %s, not a boolean", luaL_typename(L, -1));
  return lua_toboolean(L, -1);
}

// A number of the table on top of the stack: at least `least`, or `missing` where it is left out.
static double read_number(lua_State *L, const gt_request *request, const char *name, double least,
                          double missing) {
  int type = lua_getfield(L, -1, name);
  double value = type == LUA_TNIL ? missing : type == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (!(value >= least && value < INFINITY))
    gt_family_fault(L, request->family, "work", "%s is no number of %g and more", name, least);
  lua_pop(L, 1);
  return value;
}

// The table on top of the stack, of a launch.
static void read_launch_work(lua_State *L, const gt_request *request, bool each, gt_work *work) {
  static const char *const fields_of_one[] = {
      "loads", "load_bytes", "flight", "operations", "registers", "shared_bytes", "steps", "rereads", NULL};
  static const char *const fields_of_each[] = {
      "loads",        "load_bytes", "flight", "operations",   "registers",
      "shared_bytes", "steps",      "bytes",  "cached_bytes", NULL};
  const char *unknown =
      lua_istable(L, -1) ? gt_unknown_field(L, -1, each ? fields_of_each : fields_of_one) : "";
  if (unknown)
    gt_family_fault(L, request->family, "work", "is no table of what a thread does%s%s",
                    *unknown ? "; unknown field " : "", unknown);
  work->loads = read_number(L, request, "loads", 1, NAN);
  work->load_bytes = read_number(L, request, "load_bytes", 1, NAN);
  work->flight = read_number(L, request, "flight", 1, NAN);
  work->operations = read_number(L, request, "operations", 0, NAN);
  work->registers = read_number(L, request, "registers", 1, NAN);
  work->shared_bytes = read_number(L, request, "shared_bytes", 0, 0);
  work->steps = read_number(L, request, "steps", 0, 0);
  if (each) {
    work->bytes = read_number(L, request, "bytes", 0, NAN);
    work->cached_bytes = read_number(L, request, "cached_bytes", 0, NAN);
  } else {
    work->rereads = read_number(L, request, "rereads", 1, 1);
  }
}

void gt_family_read_work(lua_State *L, const gt_request *request, gt_work *work) {
  gt_variant variant = {0};
  *work = (gt_work){0};
  if (lua_getfield(L, GT_AT_FAMILY, "work") == LUA_TNIL) return;
  gt_family_read_plan(L, request, &variant);
  gt_request_call(L, request, "work", true, 1);
  lua_Unsigned listed = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  work->launch = variant.launches[0];
  work->launches = variant.n_launches;
  work->workspace_bytes = variant.workspace_per_outer;
  work->each = listed > 0;
  if (!work->each) {
    read_launch_work(L, request, false, work);
  } else if (listed != (lua_Unsigned)variant.n_launches) {
    gt_family_fault(L, request->family, "work", "tells of %d launches, and there are %d", (int)listed,
                    variant.n_launches);
  } else {
    gt_work list[GT_MAX_LAUNCHES] = {*work};
    for (int i = 0; i < variant.n_launches; i++) {
      lua_rawgeti(L, -1, i + 1);
      read_launch_work(L, request, true, &list[i]);
      list[i].launch = variant.launches[i];
      list[i].each = true;
      lua_pop(L, 1);
    }
    *work = list[0];
    if (variant.n_launches > 1) { // allocated where nothing is raised any more
      size_t bytes = (size_t)(variant.n_launches - 1) * sizeof *work;
      work->rest = memcpy(gt_alloc(bytes), list + 1, bytes);
    }
  }
  work->known = true;
  lua_settop(L, GT_AT_TOP);
}

void gt_family_read_plan(lua_State *L, const gt_request *request, gt_variant *variant) {
  read_launches(L, request, variant);
  if (gt_request_call(L, request, "workspace", true, 2) &&
      (!gt_read_integer(L, -2, 0, &variant->workspace_fixed) ||
       !gt_read_integer(L, -1, 0, &variant->workspace_per_outer)))
    gt_family_fault(L, request->family, "workspace",
                    "does not return two numbers of bytes, fixed and per outer index");
  variant->reproducible = read_reproducible(L, request);
  lua_settop(L, GT_AT_TOP);
}
