#include "generator/view.h"

#include <lauxlib.h>
#include <string.h>

#include "generator/axis.h"
#include "generator/script.h"
#include "generator/strides.h"
#include "generator/tensors.h"
#include "generator/tiling_view.h"

// Names of metatables in the registry; those of views are also what messages call them.
static const char problem_type[] = "problem", device_type[] = "device",
                  configuration_type[] = "configuration", axis_type[] = "axis", axes_type[] = "axes";
static const char kept_key[] = "gathertune.problem"; // registry: the problem view that was made last

typedef struct {
  gt_problem problem;
  char text[GT_PROBLEM_TEXT]; // what kernels depend on
} problem_view;

typedef struct {
  gt_problem problem;
  int index;
  bool made; // whether `taps` is filled; long axes cost time that not every script needs to spend
  gt_axis taps;
} axis_view;

enum { FIRST = 1, COUNT, WEIGHT, TILING, AXIS_FUNCTIONS = TILING }; // user values of an axis: its functions

static const char *field_name(lua_State *L) {
  return lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
}

static int unknown_field(lua_State *L, const char *owner) {
  return gt_script_raise(L, GT_TEMPLATE, "unknown field '%s' of %s", field_name(L), owner);
}

static int refuse_assignment(lua_State *L) {
  return gt_script_raise(L, GT_TEMPLATE, "assignment to field '%s' of a read-only value", field_name(L));
}

// ---- axes

static axis_view *axis_with_taps(lua_State *L, int index) {
  axis_view *view = lua_touserdata(L, index);
  if (!view->made) {
    gt_error error;
    gt_status status = gt_axis_make(&view->problem, view->index, &view->taps, &error);
    if (status != GT_OK) gt_script_raise(L, status, "%s", error.text);
    view->made = true;
  }
  return view;
}

static int free_axis(lua_State *L) {
  axis_view *view = lua_touserdata(L, 1);
  if (view->made) gt_axis_free(&view->taps);
  view->made = false;
  return 0;
}

// The input position that is argument 1 of an axis function. Upvalue 1 is the axis.
static int64_t check_position(lua_State *L, const axis_view *view, const char *function) {
  lua_Integer i = luaL_checkinteger(L, 1);
  if (i < 0 || i >= view->taps.n_in)
    gt_script_raise(L, GT_TEMPLATE, "%s: position %lld is outside 0..%lld", function, (long long)i,
                    (long long)view->taps.n_in - 1);
  return i;
}

static int axis_first(lua_State *L) {
  axis_view *view = axis_with_taps(L, lua_upvalueindex(1));
  lua_pushinteger(L, view->taps.first[check_position(L, view, "first")]);
  return 1;
}

static int axis_count(lua_State *L) {
  axis_view *view = axis_with_taps(L, lua_upvalueindex(1));
  lua_pushinteger(L, view->taps.count[check_position(L, view, "count")]);
  return 1;
}

static int axis_weight(lua_State *L) {
  axis_view *view = axis_with_taps(L, lua_upvalueindex(1));
  int64_t i = check_position(L, view, "weight");
  lua_Integer k = luaL_checkinteger(L, 2);
  if (k < 0 || k >= view->taps.count[i])
    return gt_script_raise(L, GT_TEMPLATE, "weight: position %lld has %lld taps, no tap %lld", (long long)i,
                           (long long)view->taps.count[i], (long long)k);
  lua_pushnumber(L, view->taps.weight[view->taps.start[i] + k]);
  return 1;
}

static int axis_tiling(lua_State *L) {
  return gt_tiling_push(L, &axis_with_taps(L, lua_upvalueindex(1))->taps);
}

static int axis_index(lua_State *L) {
  axis_view *view = lua_touserdata(L, 1);
  const char *name = field_name(L);
  if (strcmp(name, "n_in") == 0)
    lua_pushinteger(L, view->problem.in[view->index]);
  else if (strcmp(name, "n_out") == 0)
    lua_pushinteger(L, view->problem.out[view->index]);
  else if (strcmp(name, "ratio") == 0)
    lua_pushnumber(L, gt_axis_ratio(&view->problem, view->index));
  else if (strcmp(name, "identity") == 0)
    lua_pushboolean(L, axis_with_taps(L, 1)->taps.identity);
  else if (strcmp(name, "max_count") == 0)
    lua_pushinteger(L, axis_with_taps(L, 1)->taps.max_count);
  else if (strcmp(name, "first") == 0)
    lua_getiuservalue(L, 1, FIRST);
  else if (strcmp(name, "count") == 0)
    lua_getiuservalue(L, 1, COUNT);
  else if (strcmp(name, "weight") == 0)
    lua_getiuservalue(L, 1, WEIGHT);
  else if (strcmp(name, "tiling") == 0)
    lua_getiuservalue(L, 1, TILING);
  else
    return unknown_field(L, axis_type);
  return 1;
}

static void push_axis(lua_State *L, const gt_problem *problem, int index) {
  static const lua_CFunction functions[] = {
      [FIRST] = axis_first, [COUNT] = axis_count, [WEIGHT] = axis_weight, [TILING] = axis_tiling};
  axis_view *view = lua_newuserdatauv(L, sizeof *view, AXIS_FUNCTIONS);
  *view = (axis_view){.problem = *problem, .index = index};
  luaL_setmetatable(L, axis_type);
  for (int i = 1; i <= AXIS_FUNCTIONS; i++) {
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, functions[i], 1);
    lua_setiuservalue(L, -2, i);
  }
}

// The list of axes: d, h, w at 1, 2, 3. An integer past the end reads nil, which is how ipairs finds the end.
static int axes_index(lua_State *L) {
  if (!lua_isinteger(L, 2)) return unknown_field(L, axes_type);
  lua_Integer i = lua_tointeger(L, 2);
  if (i >= 1 && i <= GT_AXES)
    lua_getiuservalue(L, 1, (int)i);
  else
    lua_pushnil(L);
  return 1;
}

static int axes_length(lua_State *L) {
  lua_pushinteger(L, GT_AXES);
  return 1;
}

static void push_axes(lua_State *L, const gt_problem *problem) {
  lua_newuserdatauv(L, 0, GT_AXES);
  luaL_setmetatable(L, axes_type);
  for (int i = 0; i < GT_AXES; i++) {
    push_axis(L, problem, i);
    lua_setiuservalue(L, -2, i + 1);
  }
}

// ---- problem

// The list of tensors: { name = "grid", is_result = false, slice = … } each.
static void push_tensors(lua_State *L, const gt_problem *problem) {
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(problem, tensors);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_createtable(L, 0, 3);
    lua_pushstring(L, gt_tensor_name(tensors[i].kind));
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, tensors[i].is_result);
    lua_setfield(L, -2, "is_result");
    lua_pushinteger(L, tensors[i].slice);
    lua_setfield(L, -2, "slice");
    lua_rawseti(L, -2, i + 1);
  }
}

// Pushes what `name` says about where the elements of grad_output lie. Nothing here may depend on the number
// of batches, nor, where slices are evenly spaced, on that of channels. False: there is no such field.
static bool push_stride(lua_State *L, const gt_problem *problem, const char *name) {
  int64_t stride[GT_DIMENSIONS];
  bool even = gt_strides_even(problem);
  gt_strides_of(problem, stride);
  int64_t batch = stride[0], channel = stride[1], slice_stride = problem->layout == GT_NHWC ? batch : channel;
  if (strcmp(name, "strided") == 0)
    lua_pushboolean(L, problem->strided);
  else if (strcmp(name, "pixel_stride") == 0)
    lua_pushinteger(L, stride[4]);
  else if (strcmp(name, "row_stride") == 0)
    lua_pushinteger(L, stride[3]);
  else if (strcmp(name, "plane_stride") == 0)
    lua_pushinteger(L, stride[2]);
  else if (strcmp(name, "slice_stride") == 0)
    lua_pushinteger(L, slice_stride);
  else if (strcmp(name, "batch_slices") == 0)
    lua_pushinteger(L, even ? 1 : problem->c);
  else if (strcmp(name, "batch_stride") == 0)
    lua_pushinteger(L, even ? slice_stride : batch);
  else if (strcmp(name, "out_reach") == 0)
    lua_pushinteger(L, gt_strides_extent(problem, 1));
  else
    return false;
  return true;
}

// Pushes what `name` says about sampling at positions from a grid. False: there is no such field, or no grid.
static bool push_sampling(lua_State *L, const gt_problem *problem, const char *name) {
  const gt_sampling *sampling = &problem->sampling;
  if (problem->op->form != GT_FORM_GRID)
    return false;
  else if (strcmp(name, "channels") == 0)
    lua_pushinteger(L, problem->c);
  else if (strcmp(name, "interpolation") == 0)
    lua_pushstring(L, gt_interpolation_name(sampling->interpolation));
  else if (strcmp(name, "padding") == 0)
    lua_pushstring(L, gt_padding_name(sampling->padding));
  else if (strcmp(name, "wants_input") == 0)
    lua_pushboolean(L, sampling->want != GT_WANT_GRID);
  else if (strcmp(name, "wants_grid") == 0)
    lua_pushboolean(L, sampling->want != GT_WANT_INPUT);
  else
    return false;
  return true;
}

static int problem_index(lua_State *L) {
  const gt_problem *problem = &((problem_view *)lua_touserdata(L, 1))->problem;
  const char *name = field_name(L);
  if (strcmp(name, "axes") == 0) // first: scripts ask for them more often than for anything else
    lua_getiuservalue(L, 1, 1);
  else if (strcmp(name, "operator") == 0)
    lua_pushstring(L, problem->op->name);
  else if (strcmp(name, "filter") == 0)
    lua_pushstring(L, problem->op->filter);
  else if (strcmp(name, "spatial_axes") == 0)
    lua_pushinteger(L, problem->op->spatial_axes);
  else if (strcmp(name, "dtype") == 0)
    lua_pushstring(L, gt_dtype_name(problem->dtype));
  else if (strcmp(name, "dtype_bytes") == 0)
    lua_pushinteger(L, (lua_Integer)gt_dtype_bytes(problem->dtype));
  else if (strcmp(name, "layout") == 0)
    lua_pushstring(L, gt_layout_name(problem->layout));
  else if (strcmp(name, "align_corners") == 0)
    lua_pushboolean(L, problem->align_corners);
  else if (strcmp(name, "inner") == 0)
    lua_pushinteger(L, gt_problem_inner(problem));
  else if (strcmp(name, "double_arithmetic") == 0)
    lua_pushboolean(L, problem->dtype == GT_F64);
  else if (strcmp(name, "has_scale") == 0)
    lua_pushboolean(L, problem->has_scale);
  else if (strcmp(name, "in_slice") == 0)
    lua_pushinteger(L, gt_tensor_slice(problem, GT_GRAD_INPUT));
  else if (strcmp(name, "out_slice") == 0)
    lua_pushinteger(L, gt_tensor_slice(problem, GT_GRAD_OUTPUT));
  else if (strcmp(name, "tensors") == 0)
    push_tensors(L, problem);
  else if (!push_stride(L, problem, name) && !push_sampling(L, problem, name))
    return unknown_field(L, problem_type);
  return 1;
}

void gt_view_push_problem(lua_State *L, const gt_problem *problem) {
  char text[GT_PROBLEM_TEXT];
  gt_problem_print_kernel(problem, text);
  if (lua_getfield(L, LUA_REGISTRYINDEX, kept_key) != LUA_TNIL &&
      strcmp(((problem_view *)lua_touserdata(L, -1))->text, text) == 0)
    return;
  lua_pop(L, 1);
  problem_view *view = lua_newuserdatauv(L, sizeof *view, 1);
  view->problem = *problem;
  memcpy(view->text, text, sizeof text);
  luaL_setmetatable(L, problem_type);
  push_axes(L, problem);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, kept_key);
}

// ---- device

static int device_index(lua_State *L) {
  const gt_fingerprint *device = lua_touserdata(L, 1);
  const char *name = field_name(L);
  if (strcmp(name, "target") == 0)
    lua_pushstring(L, gt_target_name(device->target));
  else if (strcmp(name, "backend") == 0)
    lua_pushstring(L, device->backend);
  else if (strcmp(name, "arch") == 0)
    lua_pushstring(L, device->arch);
  else if (strcmp(name, "wave_size") == 0)
    lua_pushinteger(L, device->wave_size);
  else if (strcmp(name, "max_threads_per_block") == 0)
    lua_pushinteger(L, device->max_threads_per_block);
  else if (strcmp(name, "lds_bytes_per_block") == 0)
    lua_pushinteger(L, device->lds_bytes_per_block);
  else if (strcmp(name, "compute_units") == 0)
    lua_pushinteger(L, device->compute_units);
  else if (strcmp(name, "last_level_cache_bytes") == 0)
    lua_pushinteger(L, device->last_level_cache_bytes);
  else if (strcmp(name, "is_cpu") == 0)
    lua_pushboolean(L, device->is_cpu);
  else
    return unknown_field(L, device_type);
  return 1;
}

void gt_view_push_device(lua_State *L, const gt_fingerprint *device) {
  gt_fingerprint *view = lua_newuserdatauv(L, sizeof *view, 0);
  *view = *device;
  luaL_setmetatable(L, device_type);
}

// ---- configuration

static int configuration_index(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) == LUA_TNIL) return unknown_field(L, configuration_type);
  return 1;
}

void gt_view_push_configuration(lua_State *L) {
  lua_newuserdatauv(L, 0, 1);
  luaL_setmetatable(L, configuration_type);
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, 1);
}

static void make_type(lua_State *L, const char *name, lua_CFunction index) {
  luaL_newmetatable(L, name);
  lua_pushcfunction(L, index);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, refuse_assignment);
  lua_setfield(L, -2, "__newindex");
}

int gt_view_open(lua_State *L) {
  make_type(L, problem_type, problem_index);
  make_type(L, device_type, device_index);
  make_type(L, configuration_type, configuration_index);
  make_type(L, axis_type, axis_index);
  lua_pushcfunction(L, free_axis);
  lua_setfield(L, -2, "__gc");
  make_type(L, axes_type, axes_index);
  lua_pushcfunction(L, axes_length);
  lua_setfield(L, -2, "__len");
  return 0;
}
