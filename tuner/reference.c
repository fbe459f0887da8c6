#include "tuner/reference.h"

#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "tuner/forward.h"

static void free_forwards(gt_forward axes[GT_AXES]) {
  for (int axis = 0; axis < GT_AXES; axis++) gt_forward_free(&axes[axis]);
}

static gt_status make_forwards(const gt_problem *problem, gt_forward axes[GT_AXES], gt_error *error) {
  gt_status status = GT_OK;
  for (int axis = 0; axis < GT_AXES && status == GT_OK; axis++)
    status = gt_forward_make(problem, axis, &axes[axis], error);
  if (status != GT_OK) free_forwards(axes);
  return status;
}

// Adds weight · from[0…inner) into `sum`, and keeps the largest terms.
static void scatter(double weight, const double *from, int64_t inner, double *sum, double *term) {
  if (weight == 0) return;
  for (int64_t i = 0; i < inner; i++) {
    double product = weight * from[i];
    sum[i] += product;
    if (term && fabs(product) > term[i]) term[i] = fabs(product);
  }
}

// One output position of a slice: every input that it read gets its share of the gradients `from`.
static void scatter_position(const gt_problem *problem, const gt_forward axes[GT_AXES],
                             const int64_t output[GT_AXES], const double *from, double *grad_input,
                             double *term) {
  const gt_forward *d = &axes[0], *h = &axes[1], *w = &axes[2];
  const int64_t *in = problem->in, inner = gt_problem_inner(problem);
  for (int64_t i = d->begin[output[0]]; i < d->begin[output[0] + 1]; i++)
    for (int64_t j = h->begin[output[1]]; j < h->begin[output[1] + 1]; j++)
      for (int64_t k = w->begin[output[2]]; k < w->begin[output[2] + 1]; k++) {
        int64_t to = ((d->at[i] * in[1] + h->at[j]) * in[2] + w->at[k]) * inner;
        scatter(d->weight[i] * h->weight[j] * w->weight[k], from, inner, grad_input + to,
                term ? term + to : NULL);
      }
}

gt_status gt_reference(const gt_problem *problem, int64_t slices, const double *grad_output,
                       double *grad_input, double *term, gt_error *error) {
  const int64_t *in = problem->in, *out = problem->out, inner = gt_problem_inner(problem);
  int64_t in_slice = in[0] * in[1] * in[2] * inner, at[GT_AXES];
  gt_forward axes[GT_AXES] = {{0}};
  gt_status status = make_forwards(problem, axes, error);
  if (status != GT_OK) return status;

  for (int64_t i = 0; i < slices * in_slice; i++) grad_input[i] = 0;
  for (int64_t i = 0; term && i < slices * in_slice; i++) term[i] = 0;
  const double *from = grad_output;
  for (int64_t s = 0; s < slices; s++)
    for (at[0] = 0; at[0] < out[0]; at[0]++)
      for (at[1] = 0; at[1] < out[1]; at[1]++)
        for (at[2] = 0; at[2] < out[2]; at[2]++, from += inner)
          scatter_position(problem, axes, at, from, grad_input + s * in_slice,
                           term ? term + s * in_slice : NULL);
  free_forwards(axes);
  return GT_OK;
}

gt_status gt_reference_terms(const gt_problem *problem, double *terms, gt_error *error) {
  gt_forward axes[GT_AXES] = {{0}};
  gt_status status = make_forwards(problem, axes, error);
  if (status != GT_OK) return status;
  *terms = 1;
  for (int axis = 0; axis < GT_AXES; axis++) {
    int64_t *count = gt_alloc((size_t)problem->in[axis] * sizeof *count), most = 1;
    for (int64_t i = 0; i < axes[axis].count; i++)
      if (axes[axis].weight[i] != 0) count[axes[axis].at[i]]++;
    for (int64_t p = 0; p < problem->in[axis]; p++)
      if (count[p] > most) most = count[p];
    *terms *= (double)most;
    free(count);
  }
  free_forwards(axes);
  return GT_OK;
}
