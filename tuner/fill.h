// Writes tensors that kernels read to a device: dense, or grad_output with the gaps that a problem's strides leave.
#ifndef GT_TUNER_FILL_H
#define GT_TUNER_FILL_H

#include "device/device.h"
#include "generator/tensors.h"

// Where the gt_inputs of a tensor begin: tensors of one problem have different ones.
uint64_t gt_fill_first(gt_tensor_kind kind);

// Writes the first `outer` outer indices to `to`. The values are those of `values` (dense, in storage form and
// in the tensor's order) or, where that is NULL, gt_inputs numbered in that order. Gaps are written with
// canaries, NaNs, or left as they are.
gt_status gt_fill_tensor(gt_open_device *open, const gt_problem *problem, const gt_tensor *tensor,
                         int64_t outer, gt_address to, const void *values, gt_error *error);

#endif
