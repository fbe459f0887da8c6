#include "generator/tensors.h"

#include "generator/strides.h"

const char *gt_tensor_name(gt_tensor_kind kind) {
  static const char *const names[] = {[GT_GRAD_OUTPUT] = "grad_output",
                                      [GT_INPUT] = "input",
                                      [GT_GRID] = "grid",
                                      [GT_GRAD_INPUT] = "grad_input",
                                      [GT_GRAD_GRID] = "grad_grid"};
  return names[kind];
}

const int64_t *gt_tensor_sizes(const gt_problem *problem, gt_tensor_kind kind) {
  if (kind == GT_GRID || kind == GT_GRAD_GRID) return NULL;
  return kind == GT_GRAD_OUTPUT ? problem->out : problem->in;
}

int64_t gt_tensor_slice(const gt_problem *problem, gt_tensor_kind kind) {
  const int64_t *sizes = gt_tensor_sizes(problem, kind), *out = problem->out;
  if (!sizes) return out[0] * out[1] * out[2] * problem->op->spatial_axes;
  bool images = problem->layout == GT_NHWC || problem->op->form == GT_FORM_GRID;
  return sizes[0] * sizes[1] * sizes[2] * (images ? problem->c : 1);
}

int64_t gt_tensor_extent(const gt_problem *problem, const gt_tensor *tensor, int64_t outer) {
  if (outer == 0) return 0;
  return tensor->kind == GT_GRAD_OUTPUT ? gt_strides_extent(problem, outer) : outer * tensor->slice;
}

static bool has(const gt_problem *problem, gt_tensor_kind kind) {
  bool grid = problem->op->form == GT_FORM_GRID;
  gt_want want = problem->sampling.want;
  switch (kind) {
  case GT_GRID:
    return grid;
  case GT_INPUT: // its gradient does not depend on it
  case GT_GRAD_GRID:
    return grid && want != GT_WANT_INPUT;
  case GT_GRAD_INPUT:
    return !grid || want != GT_WANT_GRID;
  default:
    return true;
  }
}

int gt_problem_tensors(const gt_problem *problem, gt_tensor tensors[GT_TENSORS]) {
  int count = 0;
  for (gt_tensor_kind kind = 0; kind < GT_TENSORS; kind++)
    if (has(problem, kind))
      tensors[count++] = (gt_tensor){kind, kind == GT_GRAD_INPUT || kind == GT_GRAD_GRID, gt_tensor_slice(problem, kind)};
  return count;
}

int64_t gt_problem_moved(const gt_problem *problem) {
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(problem, tensors);
  int64_t elements = 0;
  for (int i = 0; i < count; i++) elements += tensors[i].slice;
  return elements * gt_problem_outer(problem);
}
