// Tensors as doubles, in NCHW order and in the order of their layout.
#ifndef GT_TUNER_VALUES_H
#define GT_TUNER_VALUES_H

#include "generator/tensors.h"

int64_t gt_tensor_elements(const gt_problem *problem, const gt_tensor *tensor); // of all outer indices

// A copy, in the order in which a dense tensor lies in memory, of values in NCHW order (a grid's are in the
// same order always). The caller frees it.
double *gt_values_in_layout(const gt_problem *problem, const gt_tensor *tensor, const double *values);

// The same in storage form.
void *gt_values_store(const gt_problem *problem, const gt_tensor *tensor, const double *values);

#endif
