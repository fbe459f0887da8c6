#include "generator/problem.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/strides.h"

// --- names ---------------------------------------------------------------------------------------

static const struct {
  const char *name;
  size_t bytes;
} dtypes[] = {
#define X(name, text, bytes) {text, bytes},
    GT_DTYPE_LIST(X)
#undef X
};

enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

size_t gt_dtype_bytes(gt_dtype dtype) {
  return dtypes[dtype].bytes;
}

const char *gt_dtype_name(gt_dtype dtype) {
  return dtypes[dtype].name;
}

bool gt_dtype_from_name(const char *name, gt_dtype *dtype) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (strcmp(name, dtypes[i].name) != 0) continue;
    *dtype = (gt_dtype)i;
    return true;
  }
  return false;
}

const char *gt_layout_name(gt_layout layout) {
  return layout == GT_NHWC ? "nhwc" : "nchw";
}

#define NAMES(function, type, list)                 \
  const char *function(type value) {                \
    static const char *const names[] = {list(TEXT)}; \
    return names[value];                            \
  }
#define TEXT(name, text) text,
NAMES(gt_interpolation_name, gt_interpolation, GT_INTERPOLATION_LIST)
NAMES(gt_padding_name, gt_padding, GT_PADDING_LIST)
NAMES(gt_want_name, gt_want, GT_WANT_LIST)
NAMES(gt_grid_class_name, gt_grid_class, GT_GRID_CLASS_LIST)
#undef TEXT
#undef NAMES

// --- printing ------------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void append(char text[GT_PROBLEM_TEXT], const char *format,
                                                         ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, GT_PROBLEM_TEXT - used, format, arguments);
  va_end(arguments);
}

// The shortest decimal text that parses back to the very number.
static void append_double(char text[GT_PROBLEM_TEXT], double value) {
  locale_t c = newlocale(LC_ALL_MASK, "C", 0), before = uselocale(c);
  char number[32];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(number, sizeof number, "%.*g", digits, value);
    if (strtod(number, NULL) == value) break;
  }
  uselocale(before);
  append(text, "%s", number);
}

static int first_axis(const gt_problem *problem) {
  return GT_AXES - problem->op->spatial_axes;
}

static void append_sizes(char text[GT_PROBLEM_TEXT], const gt_problem *problem, const char *key,
                         const int64_t sizes[GT_AXES]) {
  append(text, "%s=", key);
  for (int axis = first_axis(problem); axis < GT_AXES; axis++)
    append(text, "%lld%s", (long long)sizes[axis], axis + 1 < GT_AXES ? "x" : ",");
}

static void append_scales(char text[GT_PROBLEM_TEXT], const gt_problem *problem) {
  append(text, "scale=");
  for (int axis = first_axis(problem); axis < GT_AXES; axis++) {
    append_double(text, problem->scale[axis]);
    append(text, axis + 1 < GT_AXES ? "x" : ",");
  }
}

static void append_pool(char text[GT_PROBLEM_TEXT], const gt_problem *problem) {
  const gt_pool *pool = &problem->pool;
  append_sizes(text, problem, "kernel", pool->kernel);
  append_sizes(text, problem, "pool_stride", pool->stride);
  append_sizes(text, problem, "padding", pool->padding);
  append(text, "ceil_mode=%d,count_include_pad=%d,", pool->ceil_mode, pool->count_include_pad);
  if (pool->divisor) append(text, "divisor=%lld,", (long long)pool->divisor);
}

// The strides from dimension `first` on, 0 being the batch.
static void append_strides(char text[GT_PROBLEM_TEXT], const gt_problem *problem, int first) {
  append(text, "stride=");
  for (int i = first; i < GT_DIMENSIONS; i++)
    if (i < 2 || i - 2 >= first_axis(problem))
      append(text, "%lld%s", (long long)problem->stride[i], i + 1 < GT_DIMENSIONS ? "x" : ",");
}

static void print(const gt_problem *problem, bool with_n, bool with_c, bool with_positions, int first_stride,
                  char text[GT_PROBLEM_TEXT]) {
  unsigned keys = problem->op->keys;
  const gt_sampling *sampling = &problem->sampling;
  text[0] = 0;
  append(text, "%s:", problem->op->name);
  if (with_n) append(text, "n=%lld,", (long long)problem->n);
  if (with_c) append(text, "c=%lld,", (long long)problem->c);
  append_sizes(text, problem, "in", problem->in);
  append_sizes(text, problem, "out", problem->out);
  append(text, "dtype=%s,layout=%s,", gt_dtype_name(problem->dtype), gt_layout_name(problem->layout));
  if (problem->strided) append_strides(text, problem, first_stride);
  if (keys & GT_KEY_GRID)
    append(text, "interpolation=%s,padding=%s,", gt_interpolation_name(sampling->interpolation),
           gt_padding_name(sampling->padding));
  if (keys & GT_KEY_ALIGN_CORNERS) append(text, "align_corners=%d,", problem->align_corners);
  if (problem->has_scale) append_scales(text, problem);
  if (keys & GT_KEY_POOL) append_pool(text, problem);
  if (keys & GT_KEY_GRID) append(text, "want=%s,", gt_want_name(sampling->want));
  // Last: the cache (GT_SAME_POSITIONS) and exported launchers look for it at the end.
  if (with_positions && sampling->positions != GT_GRID_CLASS_ANY)
    append(text, "grid=%s,", gt_grid_class_name(sampling->positions));
  text[strlen(text) - 1] = 0; // the last comma
}

void gt_problem_print(const gt_problem *problem, char text[GT_PROBLEM_TEXT]) {
  print(problem, true, true, true, 0, text);
}

void gt_problem_print_kernel(const gt_problem *problem, char text[GT_PROBLEM_TEXT]) {
  bool even = problem->op->form == GT_FORM_SEPARABLE && problem->layout == GT_NCHW && gt_strides_even(problem);
  print(problem, false, !even, false, even ? 1 : 0, text);
}

bool gt_problem_same_kernels(const gt_problem *a, const gt_problem *b) {
  char one[GT_PROBLEM_TEXT], other[GT_PROBLEM_TEXT];
  if (a->op != b->op || a->dtype != b->dtype || a->layout != b->layout) return false;
  gt_problem_print_kernel(a, one);
  gt_problem_print_kernel(b, other);
  return strcmp(one, other) == 0;
}

// --- the form that kernels see -------------------------------------------------------------------

int64_t gt_problem_outer(const gt_problem *problem) {
  bool images = problem->layout == GT_NHWC || problem->op->form == GT_FORM_GRID;
  return images ? problem->n : problem->n * problem->c;
}

int64_t gt_problem_inner(const gt_problem *problem) {
  return problem->layout == GT_NHWC ? problem->c : 1;
}

int64_t gt_problem_in_elements(const gt_problem *problem) {
  return problem->n * problem->c * problem->in[0] * problem->in[1] * problem->in[2];
}

int64_t gt_problem_out_elements(const gt_problem *problem) {
  return problem->n * problem->c * problem->out[0] * problem->out[1] * problem->out[2];
}

bool gt_problem_double_positions(const gt_problem *problem) {
  return problem->dtype == GT_F64 && !problem->op->float_position;
}
