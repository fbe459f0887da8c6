#include <math.h>

#include "generator/axis.h"
#include "tests/unit/oracle_fixture.h"
#include "tuner/check.h"
#include "tuner/reference.h"

static gt_problem problem_of(const char *text) {
  gt_problem problem;
  gt_error error = {0};
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s", error.text);
  return problem;
}

static void expect(const char *text, const double *grad_output, const double *grad_input, double tolerance) {
  gt_problem problem = problem_of(text);
  size_t n = (size_t)gt_problem_in_elements(&problem);
  double *result = gt_alloc(n * sizeof *result);
  gt_error error = {0};
  if (gt_reference(&problem, gt_problem_outer(&problem), grad_output, result, NULL, &error) != GT_OK)
    fail_msg("%s", error.text);
  for (size_t i = 0; i < n; i++)
    if (fabs(result[i] - grad_input[i]) > tolerance)
      fail_msg("%s: element %zu is %.17g, not %.17g", text, i, result[i], grad_input[i]);
  free(result);
}

#define BILINEAR "upsample_bilinear2d_backward:"

static void a_row_twice_as_long_has_the_weights_of_a_tent(void **state) {
  (void)state;
  // Sources of the outputs: 0 (clamped), 0.25, 0.75, 1.25.
  const double out[] = {1, 10, 100, 1000};
  expect(BILINEAR "n=1,c=1,in=1x2,out=1x4,dtype=f64", out, (double[]){1 + 7.5 + 25, 2.5 + 75 + 1000}, 1e-12);
}

static void the_last_position_adds_both_taps(void **state) {
  (void)state;
  const double out[] = {1, 2, 3, 4, 5, 6};
  expect(BILINEAR "n=1,c=1,in=1x1,out=2x3,dtype=f32", out, (double[]){21}, 1e-5);
  expect(BILINEAR "n=1,c=1,in=1x1,out=2x3,dtype=f32,align_corners=1", out, (double[]){21}, 1e-12);
}

static void aligned_corners_map_onto_corners(void **state) {
  (void)state;
  // Sources: 0, 0.5, 1.
  const double out[] = {1, 10, 100};
  expect(BILINEAR "n=1,c=1,in=1x2,out=1x3,dtype=f64,align_corners=1", out, (double[]){6, 105}, 1e-12);
  // With a single output, only the first input is read.
  expect(BILINEAR "n=1,c=1,in=1x3,out=1x1,dtype=f64,align_corners=1", out, (double[]){1, 0, 0}, 0);
}

static void equal_sizes_are_a_copy_whatever_the_scale(void **state) {
  (void)state;
  const double out[] = {1, 2, 3, 4, 5, 6};
  expect(BILINEAR "n=1,c=1,in=2x3,out=2x3,dtype=f32,scale=1.3x1.4", out, out, 0);
  expect(BILINEAR "n=1,c=1,in=2x3,out=2x3,dtype=f32,align_corners=1", out, out, 0);
}

static void a_scale_takes_the_place_of_the_ratio_of_sizes(void **state) {
  (void)state;
  // scale 2.5: ratio 0.4, sources 0 (clamped), 0.1, 0.5, 0.9, 1.3 where 5 of 2 inputs are made; the last
  // reads input 1 alone.
  const double out[] = {1, 10, 100, 1000, 10000};
  expect(BILINEAR "n=1,c=1,in=1x2,out=1x5,dtype=f64,scale=1x2.5", out,
         (double[]){1 + 9 + 50 + 100, 1 + 50 + 900 + 10000}, 1e-9);
  // scale 2 where the sizes say 2.5: ratio 0.5.
  expect(BILINEAR "n=1,c=1,in=1x2,out=1x5,dtype=f64,scale=1x2", out,
         (double[]){1 + 7.5 + 25, 2.5 + 75 + 1000 + 10000}, 1e-9);
}

// What the axes' tap tables say, in double.
static void gather(const gt_problem *problem, const double *grad_output, double *grad_input) {
  gt_axis axes[GT_AXES];
  for (int i = 0; i < GT_AXES; i++) assert_int_equal(gt_axis_make(problem, i, &axes[i], NULL), GT_OK);
  int64_t inner = gt_problem_inner(problem), outer = gt_problem_outer(problem);
  const int64_t *in = problem->in, *out = problem->out;
  size_t to = 0;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t d = 0; d < in[0]; d++)
      for (int64_t h = 0; h < in[1]; h++)
        for (int64_t w = 0; w < in[2]; w++)
          for (int64_t i = 0; i < inner; i++) {
            double sum = 0;
            for (int64_t D = 0; D < axes[0].count[d]; D++)
              for (int64_t H = 0; H < axes[1].count[h]; H++)
                for (int64_t W = 0; W < axes[2].count[w]; W++) {
                  int64_t at = ((o * out[0] + axes[0].first[d] + D) * out[1] + axes[1].first[h] + H) * out[2];
                  sum += axes[0].weight[axes[0].start[d] + D] * axes[1].weight[axes[1].start[h] + H] *
                         axes[2].weight[axes[2].start[w] + W] *
                         grad_output[(at + axes[2].first[w] + W) * inner + i];
                }
            grad_input[to++] = sum;
          }
  for (int i = 0; i < GT_AXES; i++) gt_axis_free(&axes[i]);
}

static void the_scatter_agrees_with_the_tap_tables(void **state) {
  (void)state;
  static const char *const texts[] = {
      BILINEAR "n=2,c=3,in=7x9,out=13x20,dtype=f32",
      BILINEAR "n=2,c=3,in=7x9,out=13x20,dtype=f16,layout=nhwc",
      BILINEAR "n=1,c=2,in=13x20,out=7x9,dtype=f64,align_corners=1",
      BILINEAR "n=1,c=2,in=40x30,out=7x3,dtype=bf16",
      BILINEAR "n=1,c=1,in=5x6,out=11x15,dtype=f32,scale=2.3x2.6",
      BILINEAR "n=1,c=1,in=3x300,out=3x1700,dtype=f32",
      BILINEAR "n=1,c=1,in=1x1,out=30x40,dtype=f32",
      "upsample_linear1d_backward:n=2,c=3,in=70,out=131,dtype=f32,layout=nhwc",
      "upsample_trilinear3d_backward:n=1,c=2,in=3x5x4,out=7x8x11,dtype=bf16,align_corners=1",
      "upsample_trilinear3d_backward:n=1,c=2,in=7x8x11,out=3x5x4,dtype=f64,scale=0.43x0.63x0.37",
      "upsample_bicubic2d_backward:n=1,c=2,in=1x9,out=13x20,dtype=f32",
      "upsample_bicubic2d_backward:n=1,c=2,in=13x20,out=7x2,dtype=f64,align_corners=1",
      "upsample_bicubic2d_backward:n=1,c=2,in=5x5,out=5x11,dtype=f16,scale=1.1x2.3",
      "_upsample_bilinear2d_aa_backward:n=1,c=2,in=40x9,out=7x20,dtype=f32",
      "_upsample_bilinear2d_aa_backward:n=1,c=2,in=31x9,out=31x9,dtype=f32,scale=1.05x0.9",
      "_upsample_bicubic2d_aa_backward:n=1,c=2,in=40x300,out=7x20,dtype=f64,align_corners=1",
      "_upsample_bicubic2d_aa_backward:n=1,c=2,in=40x9,out=13x20,dtype=bf16,scale=0.33x2.3",
      "upsample_nearest1d_backward:n=1,c=2,in=70,out=131,dtype=f64",
      "upsample_nearest2d_backward:n=1,c=2,in=7x9,out=14x31,dtype=f32,scale=3x3.5",
      "upsample_nearest3d_backward:n=1,c=2,in=7x9x3,out=3x4x5,dtype=f16",
      "_upsample_nearest_exact1d_backward:n=1,c=2,in=70,out=131,dtype=f64",
      "_upsample_nearest_exact2d_backward:n=1,c=2,in=7x9,out=14x9,dtype=f32,scale=2.1x1.5",
      "_upsample_nearest_exact3d_backward:n=1,c=2,in=7x9x3,out=3x4x5,dtype=bf16",
      "adaptive_avg_pool2d_backward:n=1,c=3,in=14x13,out=5x13,dtype=f16,layout=nhwc",
      "adaptive_avg_pool3d_backward:n=1,c=2,in=4x9x7,out=3x11x1,dtype=f64",
      "avg_pool2d_backward:n=1,c=2,in=14x13,out=7x6,dtype=f32,kernel=2x3,pool_stride=2",
      "avg_pool2d_backward:n=1,c=2,in=14x13,out=8x5,dtype=f16,kernel=3,pool_stride=2x3,padding=1,ceil_mode=1",
      "avg_pool2d_backward:n=1,c=2,in=9x9,out=5x5,dtype=f64,kernel=3,pool_stride=2,padding=1,count_include_"
      "pad=0",
      "avg_pool2d_backward:n=1,c=2,in=9x9,out=9x9,dtype=f64,kernel=5,pool_stride=1,padding=2,divisor=7",
  };
  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
    gt_problem problem = problem_of(texts[t]);
    size_t in = (size_t)gt_problem_in_elements(&problem), out = (size_t)gt_problem_out_elements(&problem);
    double *grad_output = gt_alloc(out * sizeof(double)), *right = gt_alloc(in * sizeof(double));
    double *result = gt_alloc(in * sizeof(double)), *term = gt_alloc(in * sizeof(double));
    for (size_t i = 0; i < out; i++) grad_output[i] = (double)(i * 7919 % 1009) / 1009 - 0.5;
    gather(&problem, grad_output, right);
    assert_int_equal(gt_reference(&problem, gt_problem_outer(&problem), grad_output, result, term, NULL),
                     GT_OK);
    for (size_t i = 0; i < in; i++) {
      // The tables hold float weights of both taps on a last position as one float.
      if (fabs(result[i] - right[i]) > 1e-6 * fmax(term[i], 1e-9) * 40)
        fail_msg("%s: element %zu is %.17g, the tables say %.17g", texts[t], i, result[i], right[i]);
      assert_true(term[i] <= 0.5 * 1.3); // cubic weights that fall together go above 1
    }
    free(grad_output);
    free(right);
    free(result);
    free(term);
  }
}

static void compare(const oracle_case *one) {
  const gt_problem *problem = &one->problem;
  size_t elements = (size_t)gt_problem_in_elements(problem);
  double *result = gt_alloc(elements * sizeof *result), *term = gt_alloc(elements * sizeof *term), terms;
  gt_dtype precision = problem->dtype == GT_F64 ? GT_F64 : GT_F32;
  assert_int_equal(gt_reference(problem, gt_problem_outer(problem), one->grad_output, result, term, NULL),
                   GT_OK);
  assert_int_equal(gt_reference_terms(problem, &terms, NULL), GT_OK);
  for (size_t i = 0; i < elements; i++)
    if (!gt_check_value(precision, terms, term[i], result[i], one->expected[i]))
      fail_msg("%s: element %zu is %.17g, not %.17g", one->id, i, result[i], one->expected[i]);
  free(result);
  free(term);
}

static void it_is_what_pytorch_computes(void **state) {
  (void)state;
  assert_int_equal(oracle_each(compare), ORACLE_STATIC_CASES);
}

static void the_largest_term_and_the_number_of_terms_are_told(void **state) {
  (void)state;
  gt_problem problem = problem_of(BILINEAR "n=1,c=1,in=1x2,out=1x4,dtype=f64");
  double result[2], term[2], terms;
  assert_int_equal(gt_reference(&problem, 1, (double[]){1, -8, 2, 1}, result, term, NULL), GT_OK);
  assert_float_equal(term[0], 6, 0);
  assert_float_equal(term[1], 2, 0);
  assert_int_equal(gt_reference_terms(&problem, &terms, NULL), GT_OK);
  assert_float_equal(terms, 3, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_row_twice_as_long_has_the_weights_of_a_tent),
      cmocka_unit_test(the_last_position_adds_both_taps),
      cmocka_unit_test(aligned_corners_map_onto_corners),
      cmocka_unit_test(equal_sizes_are_a_copy_whatever_the_scale),
      cmocka_unit_test(a_scale_takes_the_place_of_the_ratio_of_sizes),
      cmocka_unit_test(the_scatter_agrees_with_the_tap_tables),
      cmocka_unit_test(it_is_what_pytorch_computes),
      cmocka_unit_test(the_largest_term_and_the_number_of_terms_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
