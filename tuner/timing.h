// How times are taken: batches of launch sequences between two marks in the device's stream.
//
// A batch is doubled until it takes batch_us, which also warms the device up. Then each batch gives one
// sample, its time over its launch sequences; timing ends when the last min_batches samples lie close
// together, or at max_batches or max_seconds, and then they are called noisy. All samples are kept. Location
// and spread are the median and the median absolute deviation times 1.4826 (which estimates the standard
// deviation of normal samples): single disturbed batches move neither.
//
// What is slower than drop_us is rejected in two stages. The batches that look for the size of a batch are a
// probe: two in a row that are slow end it, and are its samples. Later, three samples do.
//
// tuner/bench.h says how a batch is launched: short ones as replays of graphs, so that a sample is the
// device's time and not the host's, and with rotating buffers, so that caches are cold.
#ifndef GT_TUNER_TIMING_H
#define GT_TUNER_TIMING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "tuner/workshop.h"

double gt_median(const double *values, size_t count);                // 0 for none
double gt_spread(const double *values, size_t count, double median); // scaled median absolute deviation

// Standard error of a median of `count` samples with this spread.
double gt_median_error(double spread, size_t count);

typedef struct {
  double *us; // microseconds per launch sequence
  size_t count, capacity;
  bool noisy; // timing ended at its limits, before they were steady
} gt_samples;
void gt_samples_add(gt_samples *samples, double us);
void gt_samples_free(gt_samples *samples);

// Whether the last `last` samples lie within the relative tolerance (their spread over their median).
bool gt_samples_steady(const gt_samples *samples, size_t last, double tolerance);

// Whether a trial that was right was given up as too slow (drop_us), before its time was steady.
bool gt_timing_rejected(const gt_timing_options *options, const gt_trial *trial);

// Launches `count` sequences and gives the time from start to end of all of them, in microseconds.
typedef gt_status (*gt_batch)(void *context, int count, double *us, gt_error *error);

// Finds how many sequences a batch needs, from one upwards.
gt_status gt_timing_calibrate(const gt_timing_options *options, gt_batch batch, void *context, int *count,
                              gt_error *error);
// Takes samples.
gt_status gt_timing_run(const gt_timing_options *options, gt_batch batch, void *context, gt_samples *samples,
                        gt_error *error);

#endif
