// Writes grad_output to a device: dense, or with the gaps that a problem's strides leave.
#ifndef GT_TUNER_FILL_H
#define GT_TUNER_FILL_H

#include "device/device.h"
#include "generator/problem.h"

// Writes the first `outer` outer indices to `to`. The values are those of `values` (dense,
// [outer][out…][inner] in storage form) or, where that is NULL, gt_inputs numbered in that order. Gaps are
// written with canaries, NaNs, or left as they are.
gt_status gt_fill_gradient(gt_open_device *open, const gt_problem *problem, int64_t outer, gt_address to,
                           const void *values, gt_error *error);

#endif
