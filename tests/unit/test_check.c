#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/check.h"
#include "tuner/storage.h"

static void every_16_bit_value_survives_the_way_through_double(void **state) {
  (void)state;
  const gt_dtype types[] = {GT_F16, GT_BF16};
  for (int t = 0; t < 2; t++)
    for (unsigned bits = 0; bits < 65536; bits++) {
      uint16_t from = (uint16_t)bits, to;
      double value = gt_storage_load(types[t], &from, 0);
      gt_storage_store(types[t], &to, 0, value);
      if (isnan(value))
        assert_true(isnan(gt_storage_load(types[t], &to, 0)));
      else
        assert_int_equal(to, from);
    }
}

static void stores_round_to_nearest_and_ties_to_even(void **state) {
  (void)state;
  static const struct {
    gt_dtype dtype;
    double value;
    uint16_t bits;
  } cases[] = {
      {GT_F16, 1 + 0x1p-11, 0x3c00}, {GT_F16, 1 + 0x3p-11, 0x3c02}, {GT_F16, 1 + 0x1.1p-11, 0x3c01},
      {GT_F16, 65519.9, 0x7bff},     {GT_F16, 65520, 0x7c00},       {GT_F16, -0x1p-25, 0x8000},
      {GT_F16, 0x1.8p-25, 0x0001},   {GT_F16, 2 - 0x1p-12, 0x4000}, {GT_BF16, 1 + 0x1p-8, 0x3f80},
      {GT_BF16, 1 + 0x3p-8, 0x3f82}, {GT_BF16, 3.4e38, 0x7f80},     {GT_BF16, -2.5, 0xc020},
      {GT_BF16, 0x1p-133, 0x0001},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint16_t bits;
    gt_storage_store(cases[i].dtype, &bits, 0, cases[i].value);
    if (bits != cases[i].bits) fail_msg("case %zu: %#x, not %#x", i, bits, cases[i].bits);
  }
}

static void inputs_are_the_same_in_any_piece_and_within_one(void **state) {
  (void)state;
  const gt_dtype types[] = {GT_F16, GT_BF16, GT_F32, GT_F64};
  for (int t = 0; t < 4; t++) {
    size_t bytes = gt_dtype_bytes(types[t]);
    char whole[1000 * 8], part[100 * 8];
    gt_inputs inputs;
    gt_inputs_open(&inputs, types[t]);
    gt_inputs_fill(&inputs, 5000, 1000, whole);
    gt_inputs_fill(&inputs, 5300, 100, part);
    assert_memory_equal(whole + 300 * bytes, part, 100 * bytes);
    double sum = 0, most = 0;
    for (size_t i = 0; i < 1000; i++) {
      double value = gt_storage_load(types[t], whole, i);
      sum += value;
      most = fmax(most, fabs(value));
    }
    assert_true(most <= 1 && most > 0.98 && fabs(sum) < 60);
    gt_inputs_close(&inputs);
  }
}

// Sums n products in float, one after the other, as the plainest kernel does.
static void sum_terms(size_t n, bool same_sign, float wrong_weight, double *exact, double *term,
                      float *result) {
  float sum = 0;
  *exact = *term = 0;
  float *values = malloc(n * sizeof *values);
  gt_inputs inputs;
  gt_inputs_open(&inputs, GT_F32);
  gt_inputs_fill(&inputs, 77, n, values);
  gt_inputs_close(&inputs);
  for (size_t i = 0; i < n; i++) {
    float weight = 0.25f + 0.5f * (float)(i % 13) / 13, value = same_sign ? fabsf(values[i]) : values[i];
    *exact += (double)weight * value;
    *term = fmax(*term, fabs((double)weight * value));
    sum += (i == n / 2 ? weight * wrong_weight : weight) * value;
  }
  *result = sum;
  free(values);
}

static void right_sums_of_any_length_pass(void **state) {
  (void)state;
  double exact, term;
  float result;
  for (size_t n = 1; n <= 4000000; n = n * 3 + 1)
    for (int same_sign = 0; same_sign < 2; same_sign++) {
      sum_terms(n, same_sign, 1, &exact, &term, &result);
      if (!gt_check_value(GT_F32, (double)n, term, result, exact))
        fail_msg("%zu terms: off by %g, allowed %g", n, fabs(result - exact),
                 gt_check_tolerance(GT_F32, (double)n, term, exact));
    }
}

static void a_wrong_weight_fails(void **state) {
  (void)state;
  double exact, term;
  float result;
  sum_terms(16, false, 1.0001f, &exact, &term, &result);
  assert_false(gt_check_value(GT_F32, 16, term, result, exact));
  sum_terms(1000, false, 1.01f, &exact, &term, &result);
  assert_false(gt_check_value(GT_F32, 1000, term, result, exact));
  sum_terms(100000, false, 0, &exact, &term, &result); // a missing term
  assert_false(gt_check_value(GT_F32, 100000, term, result, exact));
}

static void a_16_bit_result_must_be_one_rounding_away(void **state) {
  (void)state;
  const gt_dtype types[] = {GT_F16, GT_BF16};
  for (int t = 0; t < 2; t++)
    for (int i = 1; i < 400; i++) {
      double reference = (i - 200) * 0.0123457;
      uint16_t bits, next;
      gt_storage_store(types[t], &bits, 0, reference);
      assert_true(gt_check_value(types[t], 4, 1, gt_storage_load(types[t], &bits, 0), reference));
      if ((bits & (types[t] == GT_F16 ? 0x3ff : 0x7f)) == 0) continue; // its lower neighbour is nearer
      next = (uint16_t)(bits + (fabs(gt_storage_load(types[t], &bits, 0)) > fabs(reference) ? 1 : -1));
      assert_false(gt_check_value(types[t], 4, 1, gt_storage_load(types[t], &next, 0), reference));
    }
}

static void subnormals_have_the_error_of_the_smallest(void **state) {
  (void)state;
  assert_float_equal(gt_storage_half_ulp(GT_F16, 1), 0x1p-11, 0);
  assert_float_equal(gt_storage_half_ulp(GT_F16, 1e-6), 0x1p-25, 0);
  assert_float_equal(gt_storage_half_ulp(GT_F16, 0), 0x1p-25, 0);
  assert_float_equal(gt_storage_half_ulp(GT_BF16, 3), 0x1p-7, 0);
  assert_true(gt_check_value(GT_F16, 4, 1e-7, 0x1p-24, 0x1.7p-25 + 1e-9));
}

static void infinities_and_nans_are_right_only_where_they_are_due(void **state) {
  (void)state;
  assert_true(gt_check_value(GT_F16, 4, 60000, INFINITY, 70000));
  assert_false(gt_check_value(GT_F16, 4, 60000, -(double)INFINITY, 70000));
  assert_false(gt_check_value(GT_F16, 4, 60000, INFINITY, 60000));
  assert_false(gt_check_value(GT_F32, 4, 1, NAN, 1));
  assert_true(gt_check_value(GT_F32, 4, 1, NAN, NAN));
  assert_false(gt_check_value(GT_F32, 4, 1, 1, NAN));
  assert_false(gt_check_pair(GT_F32, 4, 1, NAN, 1));
}

static void two_right_results_pass_as_a_pair(void **state) {
  (void)state;
  assert_true(gt_check_pair(GT_F16, 4, 1, 1, 1 + 0x1p-10));
  assert_false(gt_check_pair(GT_F16, 4, 1, 1, 1 + 0x3p-10));
  assert_true(gt_check_pair(GT_F32, 4, 1, 0.5, 0.5 + 3.9e-6));
  assert_false(gt_check_pair(GT_F32, 4, 1, 0.5, 0.5 + 4.1e-6));
}

static void loading_many_is_loading_each(void **state) {
  (void)state;
  uint16_t *all = malloc(65536 * sizeof *all);
  double *values = malloc(65536 * sizeof *values);
  for (unsigned i = 0; i < 65536; i++) all[i] = (uint16_t)i;
  const gt_dtype types[] = {GT_F16, GT_BF16};
  for (int t = 0; t < 2; t++) {
    gt_storage_load_many(types[t], all, 0, 65536, values);
    for (size_t i = 0; i < 65536; i++) {
      double each = gt_storage_load(types[t], all, i);
      if (isfinite(each) ? values[i] != each || signbit(values[i]) != signbit(each) : !isnan(values[i]))
        fail_msg("%#zx: %g, not %g", i, values[i], each);
    }
  }
  float some[] = {0, 1.5f, INFINITY, -3e-40f};
  gt_storage_load_many(GT_F32, some, 1, 3, values);
  assert_true(values[0] == 1.5 && isinf(values[1]) && values[2] == (double)-3e-40f);
  double doubles[] = {1, 2, 3};
  gt_storage_load_many(GT_F64, doubles, 2, 1, values);
  assert_float_equal(values[0], 3, 0);
  free(all);
  free(values);
}

// Never more than the exact check allows, and all that is within the error of few terms.
static void a_quick_look_passes_only_what_is_right_and_most_of_that(void **state) {
  (void)state;
  const gt_dtype types[] = {GT_F16, GT_BF16, GT_F32, GT_F64};
  size_t passed = 0, right = 0;
  uint64_t random = 1;
  for (int t = 0; t < 4; t++)
    for (int i = 0; i < 200000; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      double reference = ldexp((double)(int32_t)(random >> 32), -31 - (int)(random % 40));
      double term = ldexp(1, -(int)(random >> 8 & 31)), scale = gt_check_tolerance(types[t], 1, term, reference);
      double result = reference + scale * ((double)(random >> 16 & 0xffff) / 16384 - 2);
      char stored[8];
      gt_storage_store(types[t], stored, 0, result);
      result = gt_storage_load(types[t], stored, 0);
      if (!isfinite(result)) continue;
      bool quickly = gt_check_values_quickly(types[t], &term, &result, &reference, 1);
      bool exactly = gt_check_value(types[t], 1, term, result, reference);
      if (quickly && !exactly) fail_msg("dtype %d: %g for %g", types[t], result, reference);
      passed += quickly, right += exactly;
      double pair = reference + 2 * (result - reference);
      gt_storage_store(types[t], stored, 0, pair);
      pair = gt_storage_load(types[t], stored, 0);
      if (isfinite(pair) && gt_check_pairs_quickly(types[t], &term, &pair, &result, 1) &&
          !gt_check_pair(types[t], 1, term, pair, result))
        fail_msg("dtype %d: %g and %g", types[t], pair, result);
    }
  assert_true(right > 200000 && passed > right / 10 * 8);
  static const double odd[] = {NAN, INFINITY, -(double)INFINITY};
  for (int t = 0; t < 4; t++)
    for (int i = 0; i < 3; i++) {
      double one = 1, term = 1;
      assert_false(gt_check_values_quickly(types[t], &term, &odd[i], &one, 1));
      assert_false(gt_check_values_quickly(types[t], &term, &one, &odd[i], 1));
      assert_false(gt_check_values_quickly(types[t], &term, &odd[i], &odd[i], 1));
      assert_false(gt_check_pairs_quickly(types[t], &term, &odd[i], &one, 1));
      assert_false(gt_check_pairs_quickly(types[t], &term, &one, &odd[i], 1));
    }
  double results[] = {1, 1, 1.1, 1}, references[] = {1, 1, 1, 1}, terms[] = {1, 1, 1, 1};
  assert_false(gt_check_values_quickly(GT_F32, terms, results, references, 4));
  assert_true(gt_check_values_quickly(GT_F32, terms, results, references, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_16_bit_value_survives_the_way_through_double),
      cmocka_unit_test(stores_round_to_nearest_and_ties_to_even),
      cmocka_unit_test(inputs_are_the_same_in_any_piece_and_within_one),
      cmocka_unit_test(right_sums_of_any_length_pass),
      cmocka_unit_test(a_wrong_weight_fails),
      cmocka_unit_test(a_16_bit_result_must_be_one_rounding_away),
      cmocka_unit_test(subnormals_have_the_error_of_the_smallest),
      cmocka_unit_test(infinities_and_nans_are_right_only_where_they_are_due),
      cmocka_unit_test(two_right_results_pass_as_a_pair),
      cmocka_unit_test(loading_many_is_loading_each),
      cmocka_unit_test(a_quick_look_passes_only_what_is_right_and_most_of_that),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
