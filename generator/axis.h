// Taps of one axis: for an input position, the output positions whose forward read it, and the weights it was
// read with. Computed as PyTorch's forward computes them for the data type, so that the backward is the exact
// adjoint of the forward that ran.
#ifndef GT_GENERATOR_AXIS_H
#define GT_GENERATOR_AXIS_H

#include "generator/problem.h"

// For input position p the outputs are first[p] … first[p] + count[p] - 1, with weights
// weight[start[p]] … weight[start[p] + count[p] - 1]. An input that no output read has count 0.
typedef struct {
  int64_t n_in, n_out;
  int64_t *first; // n_in
  int64_t *count; // n_in
  int64_t *start; // n_in
  double *weight; // float values unless the data type is f64
  int64_t n_weights;
  int64_t max_count; // largest count[p]
  bool identity;     // equal sizes and every weight 1: a plain copy
  double ratio;      // input positions per output position, in the arithmetic type; 1 where sizes are copied
} gt_axis;

// Taps of spatial axis `axis` (0 … GT_AXES-1) of the problem. The caller frees them with gt_axis_free.
// GT_UNSUPPORTED when the axis is too long for tables (n_in + n_out over 2^28, or over 2^29 reads).
gt_status gt_axis_make(const gt_problem *problem, int axis, gt_axis *result, gt_error *error);
// Bytes of the tables that gt_axis_make would make, at most. 0 where it makes none.
int64_t gt_axis_bytes(const gt_problem *problem, int axis);
void gt_axis_free(gt_axis *axis); // harmless on a zeroed axis

// The ratio of input to output positions that PyTorch's forward uses, in float (or double for f64)
// arithmetic: align_corners: (in-1)/(out-1), 0 when out is 1; otherwise 1/scale where a scale was given, else
// in/out (of pools too, which do not use it). Nearest uses float for f64 too. Source:
// area_pixel_compute_scale in ATen/native/UpSample.h.
double gt_axis_ratio(const gt_problem *problem, int axis);

#endif
