// The score of searches, against values worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/replay.h"

#define assert_near(a, b) assert_float_equal(a, b, 1e-12)

static void the_expected_best_of_a_random_draw_is_exact(void **state) {
  (void)state;
  const double times[] = {3, 1, 2};
  gt_score score;
  gt_score_open(times, 3, &score);
  assert_near(gt_score_random(&score, 1), 2);
  assert_near(gt_score_random(&score, 2), 4.0 / 3); // pairs: 1, 1, 2
  assert_near(gt_score_random(&score, 3), 1);
  assert_near(score.optimum, 1);
  assert_near(score.median, 2);
  assert_int_equal(score.failed, 0);
  assert_int_equal(score.budget, 3); // the target is 1.05
  gt_score_close(&score);
}

static void what_failed_costs_an_evaluation_and_improves_nothing(void **state) {
  (void)state;
  const double times[] = {INFINITY, 1, 2, INFINITY};
  gt_score score;
  gt_score_open(times, 4, &score);
  assert_int_equal(score.failed, 2);
  assert_near(score.slowest, 2);
  assert_near(score.median, 1.5); // of those that did not fail
  assert_near(gt_score_random(&score, 1), 7.0 / 4);
  assert_near(gt_score_random(&score, 2), 9.0 / 6); // three of six pairs have the 1
  assert_near(gt_score_random(&score, 4), 1);
  gt_score_close(&score);
}

static void the_cutoff_is_the_first_budget_that_comes_far_enough(void **state) {
  (void)state;
  double times[100];
  for (int i = 0; i < 100; i++) times[i] = 1 + i;
  gt_score score;
  gt_score_open(times, 100, &score);
  // The least of b of 1 … n is (n + 1) / (b + 1) in the mean; the target is 50.5 − 0.95 · 49.5.
  assert_near(score.median, 50.5);
  for (size_t b = 1; b <= 100; b++)
    assert_float_equal(gt_score_random(&score, b), 101.0 / (double)(b + 1), 1e-9);
  assert_int_equal(score.budget, 29); // 101 / 30 = 3.37 <= 3.475 < 101 / 29
  gt_score_close(&score);
}

static void a_strategy_is_rated_between_random_search_and_the_optimum(void **state) {
  (void)state;
  const double times[] = {1, 2, 3};
  gt_score score;
  gt_score_open(times, 3, &score);
  const double at_once[] = {1, 1, 1}, as_random[] = {2, 4.0 / 3, 1}, late[] = {3, 2, 1},
               half[] = {1.5, 7.0 / 6, 1};
  assert_near(gt_score_rate(&score, at_once), 1);
  assert_near(gt_score_rate(&score, as_random), 0);
  assert_near(gt_score_rate(&score, half), 0.5);
  assert_near(gt_score_rate(&score, late), -1.5); // -1 and -2; at three nothing is left to gain
  gt_score_close(&score);
}

static void a_space_of_equal_times_rates_nothing(void **state) {
  (void)state;
  const double times[] = {7, 7, 7};
  gt_score score;
  gt_score_open(times, 3, &score);
  assert_int_equal(score.budget, 1);
  assert_near(gt_score_rate(&score, times), 0);
  gt_score_close(&score);
}

static void quantiles_are_interpolated(void **state) {
  (void)state;
  double values[] = {4, 1, 3, 2}, one[] = {5};
  assert_near(gt_quantile(values, 4, 0.5), 2.5);
  assert_near(gt_quantile(values, 4, 0), 1);
  assert_near(gt_quantile(values, 4, 1), 4);
  assert_near(gt_quantile(values, 4, 0.1), 1.3);
  assert_near(gt_quantile(one, 1, 0.1), 5);
}

// --- replaying

// A space of one parameter whose configuration `value` takes 1 + value.
static gt_recording line(size_t count) {
  gt_recording recording = {.name = strdup("line")};
  const char *names[] = {"x"};
  gt_points_add_family(&recording.points, "f", names, 1);
  for (size_t i = 0; i < count; i++) {
    char text[16];
    const char *values[] = {text};
    size_t point;
    bool is_new;
    snprintf(text, sizeof text, "%zu", i);
    assert_int_equal(gt_points_add(&recording.points, values, &point, &is_new, NULL), GT_OK);
    gt_recording_set(&recording, point, is_new, 1 + (double)i);
  }
  gt_points_finish(&recording.points);
  return recording;
}

static void random_search_rates_near_zero_and_a_full_order_as_it_is(void **state) {
  (void)state;
  gt_recording recording = line(64);
  gt_score score;
  gt_replay_result result;
  gt_score_open(recording.times, recording.points.count, &score);
  assert_int_equal(gt_replay(&recording, &score, &(gt_replay_options){"random", 2000, 1}, &result, NULL),
                   GT_OK);
  assert_true(fabs(result.rate) < 0.05);
  // In the order of its points the best comes first.
  assert_int_equal(gt_replay(&recording, &score, &(gt_replay_options){"exhaustive", 1, 1}, &result, NULL),
                   GT_OK);
  assert_near(result.rate, 1);
  for (size_t m = 0; m < GT_REPLAY_MARKS; m++) assert_near(result.worst_decile[m], 1);
  gt_score_close(&score);
  gt_recording_free(&recording);
}

static void a_replay_gives_the_same_numbers_every_time(void **state) {
  (void)state;
  gt_recording recording = line(64);
  gt_score score;
  gt_score_open(recording.times, recording.points.count, &score);
  static const char *const strategies[] = {"random", "descent", "bayes"};
  for (size_t i = 0; i < 3; i++)
    for (size_t ahead = 1; ahead <= 16; ahead += 15) {
      gt_replay_result one, other;
      const gt_replay_options options = {strategies[i], 20, ahead};
      assert_int_equal(gt_replay(&recording, &score, &options, &one, NULL), GT_OK);
      assert_int_equal(gt_replay(&recording, &score, &options, &other, NULL), GT_OK);
      assert_memory_equal(&one, &other, sizeof one);
    }
  gt_error error;
  assert_int_equal(
      gt_replay(&recording, &score, &(gt_replay_options){"genetic", 1, 1}, &(gt_replay_result){0}, &error),
      GT_USAGE);
  assert_string_equal(error.text,
                      "unknown strategy 'genetic'; strategies are exhaustive, random, descent, bayes");
  gt_score_close(&score);
  gt_recording_free(&recording);
}

static void a_configuration_recorded_twice_keeps_its_better_time(void **state) {
  (void)state;
  gt_recording recording = line(2);
  assert_true(gt_recording_has_times(&recording));
  gt_recording_set(&recording, 1, false, 9);
  assert_near(recording.times[1], 2);
  gt_recording_set(&recording, 1, false, 0.5);
  assert_near(recording.times[1], 0.5);
  gt_recording_set(&recording, 0, true, INFINITY);
  gt_recording_set(&recording, 1, true, INFINITY);
  assert_false(gt_recording_has_times(&recording));
  gt_recording_free(&recording);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_expected_best_of_a_random_draw_is_exact),
      cmocka_unit_test(what_failed_costs_an_evaluation_and_improves_nothing),
      cmocka_unit_test(the_cutoff_is_the_first_budget_that_comes_far_enough),
      cmocka_unit_test(a_strategy_is_rated_between_random_search_and_the_optimum),
      cmocka_unit_test(a_space_of_equal_times_rates_nothing),
      cmocka_unit_test(quantiles_are_interpolated),
      cmocka_unit_test(random_search_rates_near_zero_and_a_full_order_as_it_is),
      cmocka_unit_test(a_replay_gives_the_same_numbers_every_time),
      cmocka_unit_test(a_configuration_recorded_twice_keeps_its_better_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
