#include "tuner/values.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/storage.h"

int64_t gt_tensor_elements(const gt_problem *problem, const gt_tensor *tensor) {
  return gt_problem_outer(problem) * tensor->slice;
}

double *gt_values_in_layout(const gt_problem *problem, const gt_tensor *tensor, const double *values) {
  size_t elements = (size_t)gt_tensor_elements(problem, tensor), to = 0;
  const int64_t *sizes = gt_tensor_sizes(problem, tensor->kind);
  double *result = gt_alloc(elements * sizeof *result);
  if (!sizes || problem->layout == GT_NCHW) {
    memcpy(result, values, elements * sizeof *result);
    return result;
  }
  int64_t places = sizes[0] * sizes[1] * sizes[2];
  for (int64_t n = 0; n < problem->n; n++)
    for (int64_t p = 0; p < places; p++)
      for (int64_t c = 0; c < problem->c; c++) result[to++] = values[(n * problem->c + c) * places + p];
  return result;
}

void *gt_values_store(const gt_problem *problem, const gt_tensor *tensor, const double *values) {
  size_t elements = (size_t)gt_tensor_elements(problem, tensor);
  double *ordered = gt_values_in_layout(problem, tensor, values);
  void *result = gt_alloc(elements * gt_dtype_bytes(problem->dtype));
  for (size_t i = 0; i < elements; i++) gt_storage_store(problem->dtype, result, i, ordered[i]);
  free(ordered);
  return result;
}
