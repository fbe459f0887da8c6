// What the right result of a problem is (tuner/compare.h compares with it). Lives in the worker.
//
// Two sources. The float64 reference, on outer slices that add up to GT_EXPECTED_ELEMENTS outputs (all, when the
// problem is small; with many channels innermost, on some of the channels). And the result of `direct`, once
// that has passed the reference, on everything: it is kept on the host, up to 1 GiB of it.
#ifndef GT_TUNER_EXPECTED_H
#define GT_TUNER_EXPECTED_H

#include "tuner/bench.h"

#define GT_EXPECTED_ELEMENTS ((int64_t)1 << 22) // outputs (or inputs, if more) that the reference is computed for

typedef struct {
  gt_bench *bench; // borrowed
  double terms;    // gt_reference_terms

  // The reference: [n_slices][spatial positions of grad_input][n_channels].
  int64_t n_slices, *slices;     // outer indices
  int64_t n_channels, *channels; // inner indices
  double *reference, *term;

  // The result of `direct`: the first and the last bytes of grad_input; head + tail is everything when that
  // is small enough.
  void *head, *tail; // NULL while there is none
  int64_t head_elements, tail_elements;
  double
      *weight; // largest weight per spatial position: no input is larger than 1, so no term is larger either
} gt_expected;

// Computes the reference for the bench's own inputs. GT_OUT_OF_MEMORY when a single slice is more than 2^28
// outputs.
gt_status gt_expected_open(gt_bench *bench, gt_expected *expected, gt_error *error);

// Takes the values from elsewhere instead: doubles in NCHW order, for all of grad_input.
gt_status gt_expected_from_values(gt_bench *bench, const double *reference, const double *term,
                                  gt_expected *expected, gt_error *error);
void gt_expected_close(gt_expected *expected); // harmless on a zeroed one

// Keeps the result in a slot as that of `direct`.
gt_status gt_expected_keep(gt_expected *expected, int slot, gt_error *error);
bool gt_expected_is_partial(const gt_expected *expected); // `direct` is kept in part only

#endif
