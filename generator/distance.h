// How unlike problems are: by which searches and lookups choose whose results to go by.
#ifndef GT_GENERATOR_DISTANCE_H
#define GT_GENERATOR_DISTANCE_H

#include "generator/problem.h"

// 0 for the same one. Layout, operator, ratios of the sizes per axis, data type, alignment of rows, and
// amount of data count, in this order.
double gt_problem_distance(const gt_problem *a, const gt_problem *b);

#endif
