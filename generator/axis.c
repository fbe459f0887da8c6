#include "generator/axis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define MAX_LENGTH ((int64_t)1 << 28)

// A result of one arithmetic operation, rounded as PyTorch's arithmetic type rounds it. Operands are values
// of that type, and double has more than twice the bits of float and two more, so rounding a sum, difference,
// product or quotient to double first changes no float result (Figueroa, "When is double rounding
// innocuous?", 1995). The volatile store keeps the compiler from contracting two operations into a fused one
// and from carrying excess precision.
static double rounded(const gt_problem *problem, double value) {
  if (problem->dtype == GT_F64) {
    volatile double wide = value;
    return wide;
  }
  volatile float narrow = (float)value;
  return narrow;
}

// a · b + c with one rounding.
static double fused(const gt_problem *problem, double a, double b, double c) {
  return problem->dtype == GT_F64 ? fma(a, b, c) : fmaf((float)a, (float)b, (float)c);
}

static double integer(const gt_problem *problem, int64_t value) {
  return rounded(problem, (double)value);
}

double gt_axis_ratio(const gt_problem *problem, int axis) {
  int64_t in = problem->in[axis], out = problem->out[axis];
  if (problem->align_corners)
    return out > 1 ? rounded(problem, integer(problem, in - 1) / integer(problem, out - 1)) : 0;
  if (problem->has_scale && problem->scale[axis] > 0) return rounded(problem, 1.0 / problem->scale[axis]);
  return rounded(problem, integer(problem, in) / integer(problem, out));
}

// What the forward read for one output position.
typedef struct {
  int count;
  int64_t input[2];
  double weight[2];
} reads;

// Linear interpolation. Source: area_pixel_compute_source_index and guard_index_and_lambda in
// ATen/native/UpSample.h. PyTorch's kernels are compiled with contraction, on CPUs and GPUs alike, so ratio ·
// (o + 0.5) - 0.5 is rounded once: its own results show it, by up to 5e-6 of the largest term.
static reads linear(const gt_problem *problem, int axis, double ratio, int64_t output) {
  int64_t last = problem->in[axis] - 1;
  double at = integer(problem, output);
  if (problem->align_corners) {
    at = rounded(problem, ratio * at);
  } else {
    at = fused(problem, ratio, rounded(problem, at + 0.5), -0.5);
    if (at < 0) at = 0;
  }
  // A scale that does not fit the sizes can point past the end, even to infinity.
  int64_t low = at < (double)last ? (int64_t)at : last;
  double high_weight = rounded(problem, at - integer(problem, low));
  high_weight = high_weight < 0 ? 0 : high_weight > 1 ? 1 : high_weight;
  double low_weight = rounded(problem, 1 - high_weight);
  if (low == last) return (reads){1, {low}, {rounded(problem, low_weight + high_weight)}};
  return (reads){2, {low, low + 1}, {low_weight, high_weight}};
}

// One line per filter of the operator table. The inputs that consecutive outputs read never go back, so that
// the outputs of an input lie close together.
typedef reads (*filter)(const gt_problem *problem, int axis, double ratio, int64_t output);
static const struct {
  const char *name;
  filter reads;
} filters[] = {
    {"linear", linear},
};

static filter find_filter(const char *name) {
  for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++)
    if (strcmp(filters[i].name, name) == 0) return filters[i].reads;
  return NULL;
}

// An axis whose sizes are equal is copied, whatever the scale. Source: compute_source_index_and_lambda in
// UpSample.h.
static reads copied(const gt_problem *problem, int axis, double ratio, int64_t output) {
  (void)problem, (void)axis, (void)ratio;
  return (reads){1, {output}, {1}};
}

gt_status gt_axis_make(const gt_problem *problem, int axis, gt_axis *result, gt_error *error) {
  *result = (gt_axis){0};
  if (axis < 0 || axis >= GT_AXES) return gt_fail(error, GT_USAGE, "axis: there is no axis %d", axis);
  int64_t n_in = problem->in[axis], n_out = problem->out[axis];
  bool equal = n_in == n_out;
  filter reads_of = equal ? copied : find_filter(problem->op->filter);
  if (!reads_of)
    return gt_fail(error, GT_UNSUPPORTED, "axis: filter '%s' of %s has no axis function", problem->op->filter,
                   problem->op->name);
  if (n_in + n_out > MAX_LENGTH)
    return gt_fail(error, GT_OUT_OF_MEMORY,
                   "axis: %lld inputs and %lld outputs are too many for a table (2^28)", (long long)n_in,
                   (long long)n_out);

  gt_axis made = {.n_in = n_in, .n_out = n_out, .identity = equal};
  made.ratio = equal ? 1 : gt_axis_ratio(problem, axis);
  made.first = gt_alloc((size_t)n_in * sizeof *made.first);
  made.count = gt_alloc((size_t)n_in * sizeof *made.count);
  made.start = gt_alloc((size_t)n_in * sizeof *made.start);

  // The window of an input: from its first to its last output with a weight.
  for (int64_t output = 0; output < n_out; output++) {
    reads read = reads_of(problem, axis, made.ratio, output);
    for (int i = 0; i < read.count; i++) {
      int64_t input = read.input[i];
      if (read.weight[i] == 0) continue;
      if (made.count[input] == 0) made.first[input] = output;
      made.count[input] = output - made.first[input] + 1;
    }
  }
  for (int64_t input = 0; input < n_in; input++) {
    made.start[input] = made.n_weights;
    made.n_weights += made.count[input];
    if (made.count[input] > made.max_count) made.max_count = made.count[input];
  }
  made.weight = gt_alloc((size_t)made.n_weights * sizeof *made.weight);
  for (int64_t output = 0; output < n_out; output++) {
    reads read = reads_of(problem, axis, made.ratio, output);
    for (int i = 0; i < read.count; i++) {
      int64_t input = read.input[i];
      if (read.weight[i] != 0) made.weight[made.start[input] + output - made.first[input]] = read.weight[i];
    }
  }
  *result = made;
  return GT_OK;
}

void gt_axis_free(gt_axis *axis) {
  free(axis->first);
  free(axis->count);
  free(axis->start);
  free(axis->weight);
  *axis = (gt_axis){0};
}
