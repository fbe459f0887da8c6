#include <math.h>

#include "generator/axis.h"
#include "tests/unit/oracle_fixture.h"
#include "tuner/check.h"

// --- the oracle's cases --------------------------------------------------------------------------

// What one input of a problem gets by its windows, densely, and the largest term of the sum.
static double gather(const gt_axis axes[GT_AXES], const int64_t at[GT_AXES], const double *from,
                     double *largest) {
  const gt_axis *d = &axes[0], *h = &axes[1], *w = &axes[2];
  double sum = 0;
  *largest = 0;
  for (int64_t i = 0; i < d->count[at[0]]; i++)
    for (int64_t j = 0; j < h->count[at[1]]; j++)
      for (int64_t k = 0; k < w->count[at[2]]; k++) {
        int64_t position =
            ((d->first[at[0]] + i) * h->n_out + h->first[at[1]] + j) * w->n_out + w->first[at[2]] + k;
        double term = d->weight[d->start[at[0]] + i] * h->weight[h->start[at[1]] + j] *
                      w->weight[w->start[at[2]] + k] * from[position];
        sum += term;
        if (fabs(term) > *largest) *largest = fabs(term);
      }
  return sum;
}

static void compare(const oracle_case *one) {
  const gt_problem *problem = &one->problem;
  const double *expected = one->expected;
  gt_axis axes[GT_AXES];
  double terms = 1;
  gt_dtype precision = problem->dtype == GT_F64 ? GT_F64 : GT_F32;
  for (int i = 0; i < GT_AXES; i++) {
    assert_int_equal(gt_axis_make(problem, i, &axes[i], NULL), GT_OK);
    terms *= (double)axes[i].max_count;
  }
  int64_t out_slice = axes[0].n_out * axes[1].n_out * axes[2].n_out, at[GT_AXES];
  for (int64_t image = 0; image < problem->n * problem->c; image++) {
    const double *from = one->grad_output + image * out_slice;
    for (at[0] = 0; at[0] < axes[0].n_in; at[0]++)
      for (at[1] = 0; at[1] < axes[1].n_in; at[1]++)
        for (at[2] = 0; at[2] < axes[2].n_in; at[2]++) {
          double largest, sum = gather(axes, at, from, &largest), want = *expected++;
          if (!gt_check_value(precision, terms, largest, sum, want))
            fail_msg("%s: image %lld at %lld, %lld, %lld: %.17g instead of %.17g", one->id, (long long)image,
                     (long long)at[0], (long long)at[1], (long long)at[2], sum, want);
        }
  }
  for (int i = 0; i < GT_AXES; i++) gt_axis_free(&axes[i]);
}

static void test_oracle(void **state) {
  (void)state;
  assert_int_equal(oracle_each(compare), ORACLE_STATIC_CASES);
}

// --- windows -------------------------------------------------------------------------------------

static gt_axis width_of(const char *keys) {
  gt_problem problem;
  gt_error error = {0};
  gt_axis axis;
  char *text = gt_print("upsample_bilinear2d_backward:n=1,c=1,%s", keys);
  if (gt_problem_parse(text, &problem, &error)) fail_msg("%s", error.text);
  assert_int_equal(gt_axis_make(&problem, 2, &axis, NULL), GT_OK);
  free(text);
  return axis;
}

static void expect_window(const gt_axis *axis, int64_t input, int64_t first, int64_t count,
                          const double *weights) {
  assert_int_equal(axis->first[input], first);
  assert_int_equal(axis->count[input], count);
  for (int64_t i = 0; i < count; i++) assert_true(axis->weight[axis->start[input] + i] == weights[i]);
}

static void test_double(void **state) {
  (void)state;
  gt_axis axis = width_of("in=1x3,out=1x6,dtype=f32");
  expect_window(&axis, 0, 0, 3, (double[]){1, 0.75, 0.25});
  expect_window(&axis, 1, 1, 4, (double[]){0.25, 0.75, 0.75, 0.25});
  expect_window(&axis, 2, 3, 3, (double[]){0.25, 0.75, 1});
  assert_int_equal(axis.max_count, 4);
  assert_int_equal(axis.n_weights, 10);
  assert_true(axis.ratio == 0.5);
  assert_false(axis.identity);
  gt_axis_free(&axis);
}

static void test_tight(void **state) {
  (void)state;
  gt_axis axis = width_of("in=1x3,out=1x5,dtype=f32,align_corners=1");
  expect_window(&axis, 0, 0, 2, (double[]){1, 0.5});
  expect_window(&axis, 1, 1, 3, (double[]){0.5, 1, 0.5});
  expect_window(&axis, 2, 3, 2, (double[]){0.5, 1});
  gt_axis_free(&axis);
}

static void test_unread(void **state) {
  (void)state;
  gt_axis axis = width_of("in=1x9,out=1x3,dtype=f32");
  for (int64_t i = 0; i < 9; i++) {
    assert_int_equal(axis.count[i], i % 3 == 1);
    if (i % 3 == 1) assert_int_equal(axis.first[i], i / 3);
  }
  gt_axis_free(&axis);
  axis = width_of("in=1x4,out=1x1,dtype=f32,align_corners=1");
  expect_window(&axis, 0, 0, 1, (double[]){1});
  for (int64_t i = 1; i < 4; i++) assert_int_equal(axis.count[i], 0);
  assert_true(axis.ratio == 0);
  gt_axis_free(&axis);
}

static void test_equal(void **state) {
  (void)state;
  gt_axis axis = width_of("in=3x4,out=6x4,dtype=f32,scale=2x1.5");
  assert_true(axis.identity);
  assert_int_equal(axis.n_weights, 4);
  for (int64_t i = 0; i < 4; i++) expect_window(&axis, i, i, 1, (double[]){1});
  gt_axis_free(&axis);
}

static void test_extreme_scales(void **state) {
  (void)state;
  gt_axis axis = width_of("in=1x3,out=1x5,dtype=f64,scale=1x1e-307");
  expect_window(&axis, 2, 0, 5, (double[]){1, 1, 1, 1, 1});
  assert_int_equal(axis.count[0], 0);
  gt_axis_free(&axis);
  axis = width_of("in=1x3,out=1x5,dtype=f32,scale=1x1e300");
  expect_window(&axis, 0, 0, 5, (double[]){1, 1, 1, 1, 1});
  gt_axis_free(&axis);
}

static void test_ratio(void **state) {
  (void)state;
  gt_problem problem;
  const char *op = "upsample_bilinear2d_backward:n=1,c=1,in=1x3,out=1x7,";
  const struct {
    const char *keys;
    double ratio;
  } cases[] = {
      {"dtype=f32", (float)3 / (float)7},
      {"dtype=f16", (float)3 / (float)7},
      {"dtype=f64", 3.0 / 7.0},
      {"dtype=f32,scale=2.4x2.4", (float)(1.0 / 2.4)},
      {"dtype=f64,scale=2.4x2.4", 1.0 / 2.4},
      {"dtype=f32,align_corners=1,scale=2.4x2.4", (float)2 / (float)6},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text = gt_print("%s%s", op, cases[i].keys);
    assert_int_equal(gt_problem_parse(text, &problem, NULL), GT_OK);
    assert_true(gt_axis_ratio(&problem, 2) == cases[i].ratio);
    free(text);
  }
}

// The forward of float data in float arithmetic, written out once more with float variables.
static void test_float_arithmetic(void **state) {
  (void)state;
  gt_axis axis = width_of("in=1x101,out=1x977,dtype=bf16,scale=1x9.7");
  volatile float ratio = (float)(1.0 / 9.7);
  for (int output = 0; output < 977; output++) {
    volatile float middle = (float)output + 0.5f, at = fmaf(ratio, middle, -0.5f);
    if (at < 0) at = 0;
    int low = (int)at < 100 ? (int)at : 100;
    volatile float high_weight = at - (float)low;
    if (high_weight > 1) high_weight = 1;
    if (low == 100 || high_weight == 0) continue;
    assert_true(axis.weight[axis.start[low + 1] + output - axis.first[low + 1]] == high_weight);
  }
  gt_axis_free(&axis);
}

static void test_too_long(void **state) {
  (void)state;
  gt_problem problem;
  gt_axis axis;
  gt_error error;
  gt_problem_parse("upsample_bilinear2d_backward:n=1,c=1,in=1x268435456,out=1x2,dtype=f32", &problem, NULL);
  assert_int_equal(gt_axis_make(&problem, 2, &axis, &error), GT_UNSUPPORTED);
  gt_axis_free(&axis);
  gt_problem_parse("avg_pool2d_backward:n=1,c=1,in=1x20000001,out=1x10000001,dtype=f32,kernel=1x10000001,"
                   "pool_stride=1",
                   &problem, NULL);
  assert_int_equal(gt_axis_make(&problem, 2, &axis, &error), GT_UNSUPPORTED);
  gt_axis_free(&axis);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"sums over the taps are what PyTorch's backward computes", test_oracle, NULL, NULL, NULL},
      {"doubling gives every input its four outputs", test_double, NULL, NULL, NULL},
      {"a weight of zero at the end of a window is dropped", test_tight, NULL, NULL, NULL},
      {"an input that no output read has no taps", test_unread, NULL, NULL, NULL},
      {"an axis of equal sizes is copied whatever the scale", test_equal, NULL, NULL, NULL},
      {"a scale that points past the end stays at the end", test_extreme_scales, NULL, NULL, NULL},
      {"the ratio is rounded in the arithmetic type", test_ratio, NULL, NULL, NULL},
      {"weights of 16-bit data are those of float arithmetic", test_float_arithmetic, NULL, NULL, NULL},
      {"an axis that is too long for tables is refused", test_too_long, NULL, NULL, NULL},
  };
  return cmocka_run_group_tests_name("axis", tests, NULL, NULL);
}
