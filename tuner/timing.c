#include "tuner/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"

#define MAX_BATCH 16384 // launch sequences: against a timer that stands still
#define PROBE_PART 8 // a probe is a batch of at least this part of batch_us: longer than the timer's errors
// Microseconds of a launch sequence that probes judge. The first, small batches of shorter ones may take as
// long as the host's launching, where later ones do not (tuner/bench.h).
#define FAIR_US 50
#define PROBES 2 // slow ones in a row that end timing
#define FEW 3    // samples that do, where the probe did not

void gt_timing_defaults(gt_timing_options *options) {
  *options = (gt_timing_options){
      .tolerance = 0.01, .batch_us = 1000, .min_batches = 7, .max_batches = 40, .max_seconds = 2};
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double gt_median(const double *values, size_t count) {
  if (!count) return 0;
  double *sorted = gt_alloc(count * sizeof *sorted);
  memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare);
  double median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
  free(sorted);
  return median;
}

double gt_spread(const double *values, size_t count, double median) {
  double *deviations = gt_alloc(count * sizeof *deviations);
  for (size_t i = 0; i < count; i++) deviations[i] = fabs(values[i] - median);
  double spread = 1.4826 * gt_median(deviations, count);
  free(deviations);
  return spread;
}

double gt_median_error(double spread, size_t count) {
  return count ? 1.2533 * spread / sqrt((double)count) : 0; // sqrt(pi/2) times that of a mean
}

void gt_samples_add(gt_samples *samples, double us) {
  if (samples->count == samples->capacity) {
    samples->capacity = samples->capacity ? 2 * samples->capacity : 16;
    samples->us = gt_realloc(samples->us, samples->capacity * sizeof *samples->us);
  }
  samples->us[samples->count++] = us;
}

void gt_samples_free(gt_samples *samples) {
  free(samples->us);
  *samples = (gt_samples){0};
}

bool gt_samples_steady(const gt_samples *samples, size_t last, double tolerance) {
  if (last == 0 || samples->count < last) return false;
  const double *values = samples->us + (samples->count - last);
  double median = gt_median(values, last);
  return gt_spread(values, last, median) <= tolerance * median;
}

bool gt_timing_rejected(const gt_timing_options *options, const gt_trial *trial) {
  return gt_trial_is_timed(trial) && !trial->noisy && trial->n_samples < (size_t)options->min_batches;
}

static bool is_slow_probe(const gt_timing_options *options, double us, int count) {
  return options->drop_us > 0 && us >= options->batch_us / PROBE_PART && us / count >= FAIR_US &&
         us / count > options->drop_us;
}

// Samples are those of slow probes, up to now.
static gt_status calibrate(const gt_timing_options *options, gt_batch batch, void *context, int *count,
                           gt_samples *samples, gt_error *error) {
  double start = gt_seconds();
  for (*count = 1;; *count *= 2) {
    double us;
    gt_status status = batch(context, *count, &us, error);
    if (status != GT_OK) return status;
    // The first launch may load and page in what later ones find ready: a batch of one is always run twice.
    if (*count == 1 && us < 1e6 * options->max_seconds) {
      status = batch(context, 1, &us, error);
      if (status != GT_OK) return status;
    }
    if (is_slow_probe(options, us, *count))
      gt_samples_add(samples, us / *count);
    else
      samples->count = 0;
    if (samples->count >= PROBES || us >= options->batch_us || *count >= MAX_BATCH ||
        gt_seconds() - start > options->max_seconds)
      return GT_OK;
  }
}

gt_status gt_timing_calibrate(const gt_timing_options *options, gt_batch batch, void *context, int *count,
                              gt_error *error) {
  gt_timing_options patient = *options;
  gt_samples none = {0};
  patient.drop_us = 0;
  return calibrate(&patient, batch, context, count, &none, error);
}

gt_status gt_timing_run(const gt_timing_options *options, gt_batch batch, void *context, gt_samples *samples,
                        gt_error *error) {
  int count;
  gt_status status = calibrate(options, batch, context, &count, samples, error);
  if (status != GT_OK || samples->count >= PROBES) return status;
  samples->count = 0;
  double start = gt_seconds();
  size_t least = options->min_batches > 0 ? (size_t)options->min_batches : 1;
  while (status == GT_OK) {
    double us;
    status = batch(context, count, &us, error);
    if (status != GT_OK) break;
    gt_samples_add(samples, us / count);
    if (gt_samples_steady(samples, least, options->tolerance)) break;
    if (options->drop_us > 0 && samples->count >= FEW &&
        gt_median(samples->us, samples->count) > options->drop_us)
      break;
    samples->noisy =
        samples->count >= (size_t)options->max_batches || gt_seconds() - start > options->max_seconds;
    if (samples->noisy) break;
  }
  return status;
}
