#include "generator/strides.h"

#include <string.h>

#define MAX_EXTENT ((int64_t)1 << 46)

enum { BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH };

static const char *const names[] = {"batch", "channel", "depth", "row", "column"};

// The dimensions of a layout, from the innermost out.
static const int orders[][GT_DIMENSIONS] = {
    [GT_NCHW] = {WIDTH, HEIGHT, DEPTH, CHANNELS, BATCH},
    [GT_NHWC] = {CHANNELS, WIDTH, HEIGHT, DEPTH, BATCH},
};

static int64_t size_of(const gt_problem *problem, int dimension) {
  if (dimension == BATCH) return problem->n;
  return dimension == CHANNELS ? problem->c : problem->out[dimension - DEPTH];
}

// Strides with `gap` elements after what lies within a dimension. A dimension of length 1 has no gap of its
// own.
static void make_strides(const gt_problem *problem, int64_t gap, int64_t stride[GT_DIMENSIONS]) {
  int64_t next = 1;
  for (int i = 0; i < GT_DIMENSIONS; i++) {
    int dimension = orders[problem->layout][i];
    int64_t size = size_of(problem, dimension);
    stride[dimension] = i > 0 && size > 1 ? next + gap : next;
    next = stride[dimension] * size;
  }
}

gt_status gt_strides_settle(gt_problem *problem, gt_error *error) {
  if (!problem->strided) return GT_OK;
  int64_t dense[GT_DIMENSIONS], extent = 1, next = 1; // of what lies within a dimension, and past it
  make_strides(problem, 0, dense);
  for (int i = 0; i < GT_DIMENSIONS && problem->n && problem->c; i++) {
    int dimension = orders[problem->layout][i];
    int64_t *stride = &problem->stride[dimension], size = size_of(problem, dimension), reach;
    if (size == 1) *stride = next;
    if (i == 0 && *stride != 1)
      return gt_fail(error, GT_USAGE,
                     "problem: key 'stride': the %s stride should be 1 in layout %s, not %lld",
                     names[dimension], gt_layout_name(problem->layout), (long long)*stride);
    if (*stride < extent)
      return gt_fail(error, GT_USAGE,
                     "problem: key 'stride': elements overlap with a %s stride of %lld; it is at least %lld",
                     names[dimension], (long long)*stride, (long long)extent);
    if (__builtin_mul_overflow(*stride, size - 1, &reach) || reach > MAX_EXTENT - extent)
      return gt_fail(error, GT_USAGE,
                     "problem: key 'stride': the tensor reaches over more than 2^46 elements");
    extent += reach;
    next = *stride * size; // at most MAX_EXTENT + *stride
  }
  if (problem->layout == GT_NCHW && problem->c == 1 && problem->n > 1)
    problem->stride[CHANNELS] = problem->stride[BATCH];
  if (!problem->n || !problem->c || memcmp(problem->stride, dense, sizeof dense) == 0) {
    problem->strided = false;
    memset(problem->stride, 0, sizeof problem->stride);
  }
  return GT_OK;
}

gt_status gt_strides_spread(gt_problem *problem, int64_t gap, gt_error *error) {
  problem->strided = true;
  make_strides(problem, gap, problem->stride);
  return gt_strides_settle(problem, error);
}

void gt_strides_of(const gt_problem *problem, int64_t stride[GT_DIMENSIONS]) {
  if (problem->strided)
    memcpy(stride, problem->stride, sizeof problem->stride);
  else
    make_strides(problem, 0, stride);
}

bool gt_strides_even(const gt_problem *problem) {
  if (!problem->strided || problem->layout == GT_NHWC) return true;
  return problem->stride[BATCH] == problem->c * problem->stride[CHANNELS];
}

int64_t gt_strides_slice(const gt_problem *problem, int64_t outer) {
  int64_t stride[GT_DIMENSIONS];
  gt_strides_of(problem, stride);
  if (gt_problem_outer(problem) == problem->n || problem->c == 0) return outer * stride[BATCH];
  return outer / problem->c * stride[BATCH] + outer % problem->c * stride[CHANNELS];
}

int64_t gt_strides_extent(const gt_problem *problem, int64_t outer) {
  int64_t stride[GT_DIMENSIONS];
  gt_strides_of(problem, stride);
  int64_t extent = gt_strides_slice(problem, outer - 1) + 1;
  for (int axis = 0; axis < GT_AXES; axis++) extent += (problem->out[axis] - 1) * stride[DEPTH + axis];
  if (gt_problem_outer(problem) == problem->n && problem->c > 0) extent += (problem->c - 1) * stride[CHANNELS];
  return extent;
}
