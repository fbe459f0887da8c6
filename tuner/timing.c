#include "tuner/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"

#define MAX_BATCH 16384 // launch sequences: against a timer that stands still

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

gt_status gt_timing_calibrate(const gt_timing_options *options, gt_batch batch, void *context, int *count,
                              gt_error *error) {
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
    if (us >= options->batch_us || *count >= MAX_BATCH || gt_seconds() - start > options->max_seconds)
      return GT_OK;
  }
}

gt_status gt_timing_run(const gt_timing_options *options, gt_batch batch, void *context, gt_samples *samples,
                        gt_error *error) {
  int count;
  gt_status status = gt_timing_calibrate(options, batch, context, &count, error);
  double start = gt_seconds();
  size_t least = options->min_batches > 0 ? (size_t)options->min_batches : 1;
  while (status == GT_OK) {
    double us;
    status = batch(context, count, &us, error);
    if (status != GT_OK) break;
    gt_samples_add(samples, us / count);
    if (gt_samples_steady(samples, least, options->tolerance)) break;
    if (samples->count >= (size_t)options->max_batches || gt_seconds() - start > options->max_seconds) break;
    if (options->drop_us > 0 && samples->count >= 3 &&
        gt_median(samples->us, samples->count) > options->drop_us)
      break;
  }
  return status;
}
