// A Gaussian process over the points of a search space: from the values of some points, what those of others
// are likely to be, and how sure that is (Rasmussen and Williams, Gaussian Processes for Machine Learning,
// algorithms 2.1 and 5.1).
//
// The kernel is Matérn 5/2 over features of the parameters, each with a weight of its own that is fitted to
// the observations (penalised likelihood). A number has its rank among the parameter's values as feature;
// where a parameter has values that are powers of two and others that are not, also whether it is one, and by
// how large a power of two it divides. Of what is no number, two values are equal or not. Points of one
// family share a constant; points of different families have nothing in common.
#ifndef GT_TUNER_GAUSSIAN_H
#define GT_TUNER_GAUSSIAN_H

#include "tuner/points.h"

typedef struct gt_gaussian gt_gaussian;

// `points` must outlive it.
gt_gaussian *gt_gaussian_open(const gt_points *points);
void gt_gaussian_close(gt_gaussian *gaussian); // harmless on NULL

// Starts anew: `candidates` (kept, not copied) are the points that will be asked about, `observed` those
// whose values are known. Fits the kernel to the values.
void gt_gaussian_fit(gt_gaussian *gaussian, const size_t *candidates, size_t n_candidates,
                     const size_t *observed, const double *values, size_t n);
// Adds one more observed point.
void gt_gaussian_add(gt_gaussian *gaussian, size_t point);
size_t gt_gaussian_count(const gt_gaussian *gaussian); // observed points
// Mean and standard deviation of each candidate's value, given one value for each observed point in the order
// in which they were added.
void gt_gaussian_predict(const gt_gaussian *gaussian, const double *values, double *mean, double *deviation);

#endif
