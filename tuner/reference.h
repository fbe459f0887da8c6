// The float64 reference: the backward written from the definition of the forward (forward.h), as a scatter
// over outputs, for a few outer slices. It shares no code with the tap tables, so that the two check each
// other.
#ifndef GT_TUNER_REFERENCE_H
#define GT_TUNER_REFERENCE_H

#include "generator/problem.h"

// grad_output: [outer][out…][inner], grad_input: [outer][in…][inner], `slices` outer indices of it, as
// doubles. Positions and weights are computed in the arithmetic of PyTorch's forward, products and sums in
// double. `term` (may be NULL) receives per element of grad_input the largest |weight · gradient| summed into
// it: what tolerances are relative to. GT_UNSUPPORTED for an operator without a reference.
gt_status gt_reference(const gt_problem *problem, int64_t slices, const double *grad_output,
                       double *grad_input, double *term, gt_error *error);

// The largest number of output gradients summed into one element of grad_input: what rounding errors of a sum
// grow with.
gt_status gt_reference_terms(const gt_problem *problem, double *terms, gt_error *error);

#endif
