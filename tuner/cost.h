// What a configuration may take on a GPU of which nothing was measured, from what its family says it does.
#ifndef GT_TUNER_COST_H
#define GT_TUNER_COST_H

#include "generator/generator.h"

// ln of a time in microseconds, good for comparing configurations of one problem (docs/search.md has the formula and
// how good it is). NaN: the family does not say, or the device is a CPU.
double gt_cost(const gt_work *work, const gt_problem *problem, const gt_fingerprint *device);

#endif
