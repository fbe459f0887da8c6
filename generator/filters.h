// Filters: what the forward read along one axis for one output position, and with which weights, computed as
// PyTorch's forward computes it for the data type. One small function per filter of the operator table.
#ifndef GT_GENERATOR_FILTERS_H
#define GT_GENERATOR_FILTERS_H

#include "generator/problem.h"

// What one output read: `count` inputs, ascending and each once, with the weights that they were read with.
typedef struct {
  int64_t count;
  int64_t *input;
  double *weight; // float values unless positions are computed in double
} gt_reads;

// One axis of a problem, ready to be asked.
typedef struct gt_filter gt_filter;
struct gt_filter {
  void (*read)(const gt_filter *filter, int64_t output, gt_reads *reads);
  int64_t most; // inputs that an output reads at most
  int64_t n_in, n_out;
  bool wide; // arithmetic in double, otherwise in float
  bool align_corners;
  double ratio;                    // input positions per output position
  double support;                  // antialiased filters: how far an output reads on either side
  int64_t kernel, stride, padding; // average pooling
  bool count_include_pad;
  double divisor; // of every sum; 0: that of the window
};

// GT_UNSUPPORTED when no filter has the name that the operator's line gives.
gt_status gt_filter_make(const gt_problem *problem, int axis, gt_filter *filter, gt_error *error);

// Fills *reads, whose arrays have room for filter->most inputs.
void gt_filter_read(const gt_filter *filter, int64_t output, gt_reads *reads);

// What gt_axis_ratio (axis.h) tells.
double gt_filter_ratio(const gt_problem *problem, int axis);

#endif
