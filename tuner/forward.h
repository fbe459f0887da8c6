// What the forward of an operator reads, from its definition: for every output position of an axis the input
// positions and the weights. The reference's half of what generator/filters.c has too; the two share no code,
// so that they check each other.
#ifndef GT_TUNER_FORWARD_H
#define GT_TUNER_FORWARD_H

#include "generator/problem.h"

// Output o reads at[begin[o]] … at[begin[o + 1] - 1]. An input that
// several taps of an output fall on comes once, with their sum.
typedef struct {
  int64_t *begin; // one more than there are outputs
  int64_t *at;
  double *weight;
  int64_t count, capacity; // of at and weight
} gt_forward;

// GT_UNSUPPORTED for an operator without a definition, GT_OUT_OF_MEMORY for more than 2^29 reads.
gt_status gt_forward_make(const gt_problem *problem, int axis, gt_forward *forward, gt_error *error);
void gt_forward_free(gt_forward *forward); // harmless on a zeroed one

#endif
