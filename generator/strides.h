// Where the elements of grad_output lie: dense, or with gaps, as a slice of a larger tensor has them.
//
// Strides are counted in elements, in the order batch, channels, depth, height, width, whatever the layout:
// PyTorch's tensor.stride(), with the axes that the operator does not have in between. The layout says which
// dimension lies within which: N C D H W of nchw, N D H W C of nhwc, and the last of them has stride 1.
#ifndef GT_GENERATOR_STRIDES_H
#define GT_GENERATOR_STRIDES_H

#include "generator/problem.h"

#define GT_LARGEST_GAP 1024

// Checks the strides that were parsed and makes them canonical: a dimension of length 1, whose stride means
// nothing, gets that of a dense tensor (the single channel of nchw that of the batch), and the strides of a
// dense or empty tensor are dropped. GT_USAGE, in one line, when they are in another order than the layout's,
// elements overlap, or the whole reaches over more than 2^46 elements.
gt_status gt_strides_settle(gt_problem *problem, gt_error *error);

// Gives grad_output gaps: `gap` (1 … GT_LARGEST_GAP) elements between the rows, the planes, the slices and so
// on, whatever the layout has of these. GT_USAGE as gt_strides_settle.
gt_status gt_strides_spread(gt_problem *problem, int64_t gap, gt_error *error);

// The strides of grad_output, dense or not.
void gt_strides_of(const gt_problem *problem, int64_t stride[GT_DIMENSIONS]);

// Whether outer indices (see problem.h) lie at one distance from each other. Not so, channels-first, where
// there is a gap between batches that is none between channels.
bool gt_strides_even(const gt_problem *problem);

// Where outer index `outer` of grad_output starts, in elements from its start.
int64_t gt_strides_slice(const gt_problem *problem, int64_t outer);

// Elements from the start of grad_output to just past the last one of the first `outer` (>= 1) outer indices.
int64_t gt_strides_extent(const gt_problem *problem, int64_t outer);

#endif
