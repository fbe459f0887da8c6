// What the right results of a problem are (tuner/compare.h compares with them). Lives in the worker.
//
// Two sources. The float64 reference, on outer slices that add up to GT_EXPECTED_ELEMENTS outputs (all, when the
// problem is small; of separable operators with many channels innermost, on some of the channels). And the
// results of the plain family (gt_plain_family), once these have passed the reference, on everything: they are
// kept on the host, up to 1 GiB of each.
#ifndef GT_TUNER_EXPECTED_H
#define GT_TUNER_EXPECTED_H

#include "tuner/bench.h"

#define GT_EXPECTED_ELEMENTS ((int64_t)1 << 22) // outputs (or inputs, if more) that the reference is computed for

// What one result is. Its slices are [places][inner]: places are the spatial positions of a separable
// operator's grad_input, and every element is one of those of a grid operator's results.
typedef struct {
  gt_tensor tensor;
  int at; // its number among the bench's tensors
  int64_t inner, places;
  double terms; // the most terms of a sum

  // The reference: [n_slices][places][n_channels].
  int64_t n_channels, *channels; // inner indices
  double *reference, *term;

  // The result of the plain family: the first and the last bytes; head + tail is everything when that is small
  // enough.
  void *head, *tail; // NULL while there is none
  int64_t head_elements, tail_elements;
  double *weight; // largest weight per place, or NULL: no input is larger than 1, so no term is larger either
  double largest; // where weight is NULL: of all places
} gt_expected_result;

typedef struct {
  gt_bench *bench;           // borrowed
  int64_t n_slices, *slices; // of the references: outer indices
  int n_results;
  gt_expected_result results[2]; // in the order of the bench's tensors
} gt_expected;

// Computes the reference for the bench's own inputs. GT_OUT_OF_MEMORY when a single slice is more than 2^28
// outputs.
gt_status gt_expected_open(gt_bench *bench, gt_expected *expected, gt_error *error);

// Takes the values from elsewhere instead: per result doubles in NCHW order, for all of it, and its terms.
gt_status gt_expected_from_values(gt_bench *bench, const double *const *reference, const double *const *term,
                                  gt_expected *expected, gt_error *error);
void gt_expected_close(gt_expected *expected); // harmless on a zeroed one

// Keeps the results in a slot as those of the plain family.
gt_status gt_expected_keep(gt_expected *expected, int slot, gt_error *error);
bool gt_expected_is_partial(const gt_expected *expected); // they are kept in part only

#endif
