// The float64 reference of sampling at the positions of a grid: the backward written from the definition of PyTorch's
// grid_sample (docs/grid.md), as a scatter over samples, for some images. It shares no code with the kernels.
#ifndef GT_TUNER_REFERENCE_GRID_H
#define GT_TUNER_REFERENCE_GRID_H

#include "generator/problem.h"

// Tensors of `images` images as doubles, in the order of the problem's layout. Positions are computed in float (double
// for f64), as the forward does, products and sums in double. The results may be NULL; `term` receives per element the
// largest term of its sum, what tolerances are relative to.
typedef struct {
  const double *grad_output, *input, *grid;
  double *grad_input, *grad_input_term;
  double *grad_grid, *grad_grid_term;
} gt_grid_tensors;
void gt_reference_grid(const gt_problem *problem, int64_t images, const gt_grid_tensors *tensors);

// The most samples' taps that fall on one pixel: the most terms of an element of grad_input. `grid`: of `images`
// images, in storage form.
double gt_reference_grid_terms(const gt_problem *problem, int64_t images, const void *grid);

// The largest term of a sum that there can be where no gradient and no input is larger than 1.
double gt_reference_grid_largest(const gt_problem *problem, bool of_grid);

#endif
