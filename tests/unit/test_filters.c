#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/filters.h"

static gt_problem problem_of(const char *text) {
  gt_problem problem;
  gt_error error = {0};
  if (gt_problem_parse(text, &problem, &error)) fail_msg("%s: %s", text, error.text);
  return problem;
}

static gt_reads reads_of(const gt_problem *problem, int axis, int64_t output) {
  gt_filter filter;
  assert_int_equal(gt_filter_make(problem, axis, &filter, NULL), GT_OK);
  gt_reads reads = {.input = gt_alloc((size_t)filter.most * sizeof *reads.input),
                    .weight = gt_alloc((size_t)filter.most * sizeof *reads.weight)};
  gt_filter_read(&filter, output, &reads);
  assert_true(reads.count <= filter.most);
  return reads;
}

// What output `output` of the width reads: `count` inputs from `first` on, with these weights to within
// `tolerance`.
static void expect(const char *text, int64_t output, int64_t first, int64_t count, const double *weights,
                   double tolerance) {
  gt_problem problem = problem_of(text);
  gt_reads reads = reads_of(&problem, 2, output);
  if (reads.count != count || (count && reads.input[0] != first))
    fail_msg("%s, output %lld: %lld inputs from %lld on", text, (long long)output, (long long)reads.count,
             (long long)(reads.count ? reads.input[0] : -1));
  for (int64_t i = 0; i < count; i++) {
    assert_int_equal(reads.input[i], first + i);
    if (fabs(reads.weight[i] - weights[i]) > tolerance)
      fail_msg("%s, output %lld: weight %lld is %.17g", text, (long long)output, (long long)i,
               reads.weight[i]);
  }
  free(reads.input);
  free(reads.weight);
}

#define WEIGHTS(...) ((const double[]){__VA_ARGS__})

static void linear_reads_two_neighbours(void **state) {
  (void)state;
  const char *text = "upsample_linear1d_backward:n=1,c=1,in=4,out=8,dtype=f32";
  expect(text, 0, 0, 2, WEIGHTS(1, 0), 0); // the position is clamped at 0
  expect(text, 3, 1, 2, WEIGHTS(0.75, 0.25), 0);
  expect(text, 7, 3, 1, WEIGHTS(1), 0); // both neighbours are the last input
}

static void cubic_reads_four_neighbours_and_its_borders_more_than_once(void **state) {
  (void)state;
  const char *text = "upsample_bicubic2d_backward:n=1,c=1,in=1x8,out=1x16,dtype=f64";
  // t = 0.25 at position 3.25, with a = -0.75; by hand from Keys' piecewise cubic.
  expect(text, 7, 2, 4, WEIGHTS(-0.10546875, 0.87890625, 0.26171875, -0.03515625), 1e-15);
  // Position -0.25, which is not clamped: t = 0.75 after input -1, so inputs -2, -1 and 0 are the first one.
  expect(text, 0, 0, 2, WEIGHTS(1 + 0.10546875, -0.10546875), 1e-15);
  expect(text, 15, 6, 2, WEIGHTS(-0.10546875, 1 + 0.10546875), 1e-15);
  expect("upsample_bicubic2d_backward:n=1,c=1,in=1x1,out=1x9,dtype=f32", 4, 0, 1, WEIGHTS(1), 1e-6);
}

static void antialiased_filters_widen_where_they_downscale(void **state) {
  (void)state;
  // Half the size: centre 4 of output 1 between inputs 3 and 4 of a tent of half width 2.
  expect("_upsample_bilinear2d_aa_backward:n=1,c=1,in=1x8,out=1x4,dtype=f64", 1, 1, 4,
         WEIGHTS(0.125, 0.375, 0.375, 0.125), 1e-15);
  // Up to the border only, and normalised: the tent's 0.75, 0.75 and 0.25.
  expect("_upsample_bilinear2d_aa_backward:n=1,c=1,in=1x8,out=1x4,dtype=f64", 0, 0, 3,
         WEIGHTS(0.75 / 1.75, 0.75 / 1.75, 0.25 / 1.75), 1e-15);
  // Twice the size: the filter keeps its width.
  expect("_upsample_bilinear2d_aa_backward:n=1,c=1,in=1x4,out=1x8,dtype=f64", 3, 1, 2, WEIGHTS(0.75, 0.25),
         1e-15);
  // Cubic with a = -0.5: at t = 0.25 by hand.
  expect("_upsample_bicubic2d_aa_backward:n=1,c=1,in=1x8,out=1x16,dtype=f64", 7, 2, 4,
         WEIGHTS(-0.0703125, 0.8671875, 0.2265625, -0.0234375), 1e-15);
}

static void nearest_rounds_down_and_nearest_exact_from_the_centre(void **state) {
  (void)state;
  const char *nearest = "upsample_nearest1d_backward:n=1,c=1,in=5,out=3,dtype=f32";
  const char *exact = "_upsample_nearest_exact1d_backward:n=1,c=1,in=5,out=3,dtype=f32";
  const int64_t floors[] = {0, 1, 3}, centres[] = {0, 2, 4};
  for (int i = 0; i < 3; i++) {
    expect(nearest, i, floors[i], 1, WEIGHTS(1), 0);
    expect(exact, i, centres[i], 1, WEIGHTS(1), 0);
  }
}

static void nearest_positions_are_float_for_f64_too(void **state) {
  (void)state;
  // Whole positions that one arithmetic rounds down to and the other does not: some differ.
  int differences = 0;
  for (int64_t in = 1; in < 40; in++)
    for (int64_t out = 1; out < 90; out++) {
      char *text = gt_print("upsample_nearest1d_backward:n=1,c=1,in=%lld,out=%lld,dtype=f64", (long long)in,
                            (long long)out);
      volatile float ratio = (float)in / (float)out;
      for (int64_t o = 0; o < out && in != out && out != 2 * in; o++) {
        volatile float at = (float)o * ratio;
        int64_t input = (int64_t)at < in ? (int64_t)at : in - 1;
        expect(text, o, input, 1, WEIGHTS(1), 0);
        differences += input != (int64_t)((double)o * ((double)in / (double)out));
      }
      free(text);
    }
  assert_true(differences > 0);
}

static void which_scales_count_at_equal_and_double_sizes(void **state) {
  (void)state;
  // Twice the size ignores a scale for nearest, and equal sizes do; nearest_exact goes by its scale.
  expect("upsample_nearest1d_backward:n=1,c=1,in=4,out=8,dtype=f32,scale=2.6", 7, 3, 1, WEIGHTS(1), 0);
  expect("upsample_nearest1d_backward:n=1,c=1,in=4,out=4,dtype=f32,scale=2", 3, 3, 1, WEIGHTS(1), 0);
  expect("_upsample_nearest_exact1d_backward:n=1,c=1,in=4,out=4,dtype=f32,scale=2", 3, 1, 1, WEIGHTS(1), 0);
  // Cubic copies where all axes are equal; linear where this one is.
  expect("upsample_bicubic2d_backward:n=1,c=1,in=4x4,out=4x4,dtype=f32,scale=2", 3, 3, 1, WEIGHTS(1), 0);
  expect("upsample_bicubic2d_backward:n=1,c=1,in=4x4,out=8x4,dtype=f64,scale=2", 2, 0, 3,
         WEIGHTS(0.26171875 - 0.03515625, 0.87890625, -0.10546875), 1e-15);
  expect("upsample_bilinear2d_backward:n=1,c=1,in=4x4,out=8x4,dtype=f32,scale=2", 2, 2, 1, WEIGHTS(1), 0);
  // An antialiased filter always goes by its scale: centre 1.25, so that inputs 0 and 1 are 0.75 and 0.25
  // away.
  expect("_upsample_bilinear2d_aa_backward:n=1,c=1,in=4x4,out=4x4,dtype=f64,scale=2", 2, 0, 2,
         WEIGHTS(0.25, 0.75), 1e-15);
}

static void poolings_average_their_windows(void **state) {
  (void)state;
  const char *adaptive = "adaptive_avg_pool2d_backward:n=1,c=1,in=1x7,out=1x3,dtype=f64";
  expect(adaptive, 0, 0, 3, WEIGHTS(1. / 3, 1. / 3, 1. / 3), 1e-16);
  expect(adaptive, 1, 2, 3, WEIGHTS(1. / 3, 1. / 3, 1. / 3), 1e-16);
  expect(adaptive, 2, 4, 3, WEIGHTS(1. / 3, 1. / 3, 1. / 3), 1e-16);
#define POOL \
  "avg_pool2d_backward:n=1,c=1,in=1x8,out=1x5,dtype=f64,kernel=1x3,pool_stride=1x2,padding=0x1,ceil_mode=1"
  expect(POOL, 0, 0, 2, WEIGHTS(1. / 3, 1. / 3), 1e-16); // a window over the padding before
  expect(POOL, 1, 1, 3, WEIGHTS(1. / 3, 1. / 3, 1. / 3), 1e-16);
  expect(POOL, 4, 7, 1, WEIGHTS(0.5), 0); // from 7 up to 9, where the padding ends
  expect(POOL ",count_include_pad=0", 0, 0, 2, WEIGHTS(0.5, 0.5), 0);
  expect(POOL ",count_include_pad=0", 4, 7, 1, WEIGHTS(1), 0);
  expect(POOL ",divisor=8", 4, 7, 1, WEIGHTS(0.125), 0);
}

static void extreme_scales_read_inputs_or_nothing(void **state) {
  (void)state;
  static const char *const operators[] = {"upsample_bicubic2d_backward", "_upsample_bilinear2d_aa_backward",
                                          "_upsample_bicubic2d_aa_backward", "upsample_nearest2d_backward",
                                          "_upsample_nearest_exact2d_backward"};
  static const char *const scales[] = {"3e-39", "1e-30", "1e-10", "1e10", "1e300"};
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
    for (size_t j = 0; j < sizeof scales / sizeof scales[0]; j++)
      for (int64_t output = 0; output < 5; output++) {
        char *text = gt_print("%s:n=1,c=1,in=3x3,out=5x5,dtype=f32,scale=%s", operators[i], scales[j]);
        gt_problem problem = problem_of(text);
        gt_reads reads = reads_of(&problem, 2, output);
        for (int64_t k = 0; k < reads.count; k++) {
          assert_in_range(reads.input[k], 0, 2);
          assert_true(isfinite(reads.weight[k]));
        }
        free(reads.input);
        free(reads.weight);
        free(text);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_reads_two_neighbours),
      cmocka_unit_test(cubic_reads_four_neighbours_and_its_borders_more_than_once),
      cmocka_unit_test(antialiased_filters_widen_where_they_downscale),
      cmocka_unit_test(nearest_rounds_down_and_nearest_exact_from_the_centre),
      cmocka_unit_test(nearest_positions_are_float_for_f64_too),
      cmocka_unit_test(which_scales_count_at_equal_and_double_sizes),
      cmocka_unit_test(poolings_average_their_windows),
      cmocka_unit_test(extreme_scales_read_inputs_or_nothing),
  };
  return cmocka_run_group_tests_name("filters", tests, NULL, NULL);
}
