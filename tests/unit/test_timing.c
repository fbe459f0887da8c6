#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/timing.h"

// A device whose launches take `us`, and up to twice `noise` more.
typedef struct {
  double us, noise;
  int batches, launches, fails_at;
} fake;

static gt_status fake_batch(void *context, int count, double *us, gt_error *error) {
  fake *f = context;
  f->batches++;
  f->launches += count;
  if (f->fails_at && f->batches >= f->fails_at) return gt_fail(error, GT_LAUNCH, "scripted");
  *us = count * (f->us + f->batches % 3 * f->noise);
  return GT_OK;
}

static gt_timing_options options_of(void) {
  gt_timing_options options;
  gt_timing_defaults(&options);
  options.min_batches = 5;
  options.max_batches = 20;
  return options;
}

static void the_median_and_spread_ignore_an_outlier(void **state) {
  (void)state;
  const double values[] = {10, 11, 9, 10, 500};
  assert_float_equal(gt_median(values, 5), 10, 0);
  assert_float_equal(gt_spread(values, 5, 10), 1.4826, 1e-9);
  assert_float_equal(gt_median(values, 4), 10, 0);
  assert_float_equal(gt_median((double[]){1, 2}, 2), 1.5, 0);
  assert_float_equal(gt_median(values, 0), 0, 0);
}

static void a_batch_is_doubled_until_it_is_long(void **state) {
  (void)state;
  fake f = {.us = 3};
  gt_timing_options options = options_of();
  int count;
  assert_int_equal(gt_timing_calibrate(&options, fake_batch, &f, &count, NULL), GT_OK);
  assert_int_equal(count, 512); // 1536 us, the first that is over 1000
}

static void steady_times_end_early(void **state) {
  (void)state;
  fake f = {.us = 100};
  gt_timing_options options = options_of();
  gt_samples samples = {0};
  assert_int_equal(gt_timing_run(&options, fake_batch, &f, &samples, NULL), GT_OK);
  assert_int_equal(samples.count, 5);
  assert_float_equal(samples.us[0], 100, 1e-9);
  assert_false(samples.noisy);
  gt_samples_free(&samples);
}

static void restless_times_end_at_the_most_batches(void **state) {
  (void)state;
  fake f = {.us = 100, .noise = 50};
  gt_timing_options options = options_of();
  gt_samples samples = {0};
  assert_int_equal(gt_timing_run(&options, fake_batch, &f, &samples, NULL), GT_OK);
  assert_int_equal(samples.count, 20);
  assert_true(samples.noisy);
  gt_samples_free(&samples);
}

static void what_is_clearly_slower_than_the_best_is_dropped_by_the_probe(void **state) {
  (void)state;
  fake f = {.us = 100, .noise = 50};
  gt_timing_options options = options_of();
  options.drop_us = 80;
  gt_samples samples = {0};
  assert_int_equal(gt_timing_run(&options, fake_batch, &f, &samples, NULL), GT_OK);
  assert_int_equal(samples.count, 2);
  assert_int_equal(f.batches, 3); // 1, 1 again, 2: 200 and 300 us, of 1000
  assert_false(samples.noisy);
  gt_samples_free(&samples);
}

static void launches_that_the_host_may_hold_up_are_dropped_only_after_three_samples(void **state) {
  (void)state;
  fake f = {.us = 10, .noise = 5};
  gt_timing_options options = options_of();
  options.drop_us = 8;
  gt_samples samples = {0};
  assert_int_equal(gt_timing_run(&options, fake_batch, &f, &samples, NULL), GT_OK);
  assert_int_equal(samples.count, 3);
  assert_false(samples.noisy);
  gt_samples_free(&samples);
}

static void a_timer_that_stands_still_does_not_run_for_ever(void **state) {
  (void)state;
  fake f = {.us = 0};
  gt_timing_options options = options_of();
  gt_samples samples = {0};
  assert_int_equal(gt_timing_run(&options, fake_batch, &f, &samples, NULL), GT_OK);
  assert_true(f.launches < 500000);
  gt_samples_free(&samples);
}

static void a_failing_launch_ends_timing_with_its_error(void **state) {
  (void)state;
  fake f = {.us = 100, .fails_at = 8};
  gt_timing_options options = options_of();
  gt_samples samples = {0};
  gt_error error = {0};
  assert_int_equal(gt_timing_run(&options, fake_batch, &f, &samples, &error), GT_LAUNCH);
  assert_string_equal(error.text, "scripted");
  gt_samples_free(&samples);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_median_and_spread_ignore_an_outlier),
      cmocka_unit_test(a_batch_is_doubled_until_it_is_long),
      cmocka_unit_test(steady_times_end_early),
      cmocka_unit_test(restless_times_end_at_the_most_batches),
      cmocka_unit_test(what_is_clearly_slower_than_the_best_is_dropped_by_the_probe),
      cmocka_unit_test(launches_that_the_host_may_hold_up_are_dropped_only_after_three_samples),
      cmocka_unit_test(a_timer_that_stands_still_does_not_run_for_ever),
      cmocka_unit_test(a_failing_launch_ends_timing_with_its_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
