#include "generator/axis.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "generator/filters.h"

#define MAX_LENGTH ((int64_t)1 << 28)
#define MAX_READS ((int64_t)1 << 29)

double gt_axis_ratio(const gt_problem *problem, int axis) {
  return gt_filter_ratio(problem, axis);
}

static gt_status check_size(const gt_filter *filter, gt_error *error) {
  if (filter->n_in + filter->n_out > MAX_LENGTH)
    return gt_fail(error, GT_UNSUPPORTED,
                   "axis: %lld inputs and %lld outputs are too many for a table (2^28)",
                   (long long)filter->n_in, (long long)filter->n_out);
  if (filter->most > MAX_READS / filter->n_out)
    return gt_fail(error, GT_UNSUPPORTED,
                   "axis: %lld outputs that read up to %lld inputs each are too many for a table (2^29)",
                   (long long)filter->n_out, (long long)filter->most);
  return GT_OK;
}

int64_t gt_axis_bytes(const gt_problem *problem, int axis) {
  gt_filter filter;
  if (gt_filter_make(problem, axis, &filter, NULL) != GT_OK || check_size(&filter, NULL) != GT_OK) return 0;
  return filter.n_in * (int64_t)(3 * sizeof(int64_t)) + filter.n_out * filter.most * (int64_t)sizeof(double);
}

// The hull of an input: from its first to its last output with a weight. The inputs that consecutive outputs
// read never go back, so that the outputs of an input lie close together.
static void find_windows(gt_axis *axis, const gt_filter *filter, gt_reads *reads) {
  for (int64_t output = 0; output < axis->n_out; output++) {
    gt_filter_read(filter, output, reads);
    for (int64_t i = 0; i < reads->count; i++) {
      int64_t input = reads->input[i];
      if (reads->weight[i] == 0) continue;
      if (axis->count[input] == 0) axis->first[input] = output;
      axis->count[input] = output - axis->first[input] + 1;
    }
  }
  for (int64_t input = 0; input < axis->n_in; input++) {
    axis->start[input] = axis->n_weights;
    axis->n_weights += axis->count[input];
    if (axis->count[input] > axis->max_count) axis->max_count = axis->count[input];
  }
}

static void fill_weights(gt_axis *axis, const gt_filter *filter, gt_reads *reads) {
  axis->weight = gt_alloc((size_t)axis->n_weights * sizeof *axis->weight);
  for (int64_t output = 0; output < axis->n_out; output++) {
    gt_filter_read(filter, output, reads);
    for (int64_t i = 0; i < reads->count; i++) {
      int64_t input = reads->input[i];
      if (reads->weight[i] == 0) continue;
      axis->weight[axis->start[input] + output - axis->first[input]] = reads->weight[i];
    }
  }
}

static bool is_identity(const gt_axis *axis) {
  if (axis->n_in != axis->n_out) return false;
  for (int64_t i = 0; i < axis->n_in; i++)
    if (axis->count[i] != 1 || axis->first[i] != i || axis->weight[axis->start[i]] != 1) return false;
  return true;
}

gt_status gt_axis_make(const gt_problem *problem, int axis, gt_axis *result, gt_error *error) {
  gt_filter filter;
  *result = (gt_axis){0};
  if (axis < 0 || axis >= GT_AXES) return gt_fail(error, GT_USAGE, "axis: there is no axis %d", axis);
  gt_status status = gt_filter_make(problem, axis, &filter, error);
  if (status == GT_OK) status = check_size(&filter, error);
  if (status != GT_OK) return status;

  gt_axis made = {.n_in = filter.n_in, .n_out = filter.n_out, .ratio = filter.ratio};
  made.first = gt_alloc((size_t)made.n_in * sizeof *made.first);
  made.count = gt_alloc((size_t)made.n_in * sizeof *made.count);
  made.start = gt_alloc((size_t)made.n_in * sizeof *made.start);
  gt_reads reads = {.input = gt_alloc((size_t)filter.most * sizeof *reads.input),
                    .weight = gt_alloc((size_t)filter.most * sizeof *reads.weight)};
  find_windows(&made, &filter, &reads);
  fill_weights(&made, &filter, &reads);
  made.identity = is_identity(&made);
  free(reads.input);
  free(reads.weight);
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
