#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/choose.h"
#include "tuner/search.h"

static void expect_no_repetition(const gt_search_step *steps, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++)
      assert_false(steps[i].group == steps[j].group && steps[i].index == steps[j].index);
}

static void a_space_within_the_budget_is_tried_whole(void **state) {
  (void)state;
  const gt_search_group groups[] = {{5, 3, NULL}, {2, 0, NULL}, {0, 0, NULL}};
  gt_search_step *steps;
  assert_int_equal(gt_search_order(groups, 3, 7, 1, &steps), 7);
  expect_no_repetition(steps, 7);
  assert_int_equal(steps[0].group, 0);
  assert_int_equal(steps[0].index, 3);
  free(steps);
}

static void a_larger_space_is_sampled_with_the_defaults_first(void **state) {
  (void)state;
  const gt_search_group groups[] = {{1000, 17, NULL}, {500, 4, NULL}};
  gt_search_step *steps, *again, *other;
  assert_int_equal(gt_search_order(groups, 2, 60, 9, &steps), 60);
  assert_int_equal(gt_search_order(groups, 2, 60, 9, &again), 60);
  assert_int_equal(gt_search_order(groups, 2, 60, 10, &other), 60);
  expect_no_repetition(steps, 60);
  assert_int_equal(steps[0].index, 17);
  assert_int_equal(steps[1].index, 4);
  assert_memory_equal(steps, again, 60 * sizeof *steps);
  assert_memory_not_equal(steps, other, 60 * sizeof *steps);
  free(steps);
  free(again);
  free(other);
}

static void a_small_family_is_not_crowded_out(void **state) {
  (void)state;
  const gt_search_group groups[] = {{100000, 0, NULL}, {6, 6, NULL}};
  gt_search_step *steps;
  size_t small = 0, n = gt_search_order(groups, 2, 20, 3, &steps);
  for (size_t i = 0; i < n; i++) small += steps[i].group == 1;
  assert_int_equal(n, 20);
  assert_true(small >= 2 && small <= 6);
  free(steps);
}

static void parameters_that_differ_are_counted(void **state) {
  (void)state;
  assert_int_equal(gt_search_distance("taps:vx=1,vy=2,map=flat", "taps:vx=1,vy=2,map=flat"), 0);
  assert_int_equal(gt_search_distance("taps:vx=1,vy=2,map=flat", "taps:vx=16,vy=2,map=slice"), 2);
  assert_int_equal(gt_search_distance("taps:vx=1,vy=2", "taps:vx=1,vy=21"), 1);
  assert_int_equal(gt_search_distance("stream", "stream"), 0);
}

static void a_sample_goes_by_turns_near_the_default_and_anywhere(void **state) {
  (void)state;
  size_t distance[400];
  for (size_t i = 0; i < 400; i++) distance[i] = i == 200 ? 0 : i % 50 == 0 ? 1 : 3; // 7 at distance 1
  const gt_search_group groups[] = {{400, 200, distance}};
  gt_search_step *steps;
  size_t n = gt_search_order(groups, 1, 15, 5, &steps), far = 0;
  assert_int_equal(n, 15);
  expect_no_repetition(steps, n);
  assert_int_equal(steps[0].index, 200);
  for (size_t i = 1; i < n; i += 2) assert_int_equal(distance[steps[i].index], 1);
  for (size_t i = 2; i < n; i += 2) far += distance[steps[i].index] == 3;
  assert_true(far >= 5);
  free(steps);
}

static gt_trial trial_of(char *configuration, double median, double spread, int registers) {
  return (gt_trial){.configuration = configuration,
                    .outcome = GT_OUTCOME_OK,
                    .median_us = median,
                    .spread_us = spread,
                    .n_samples = 16,
                    .registers = registers};
}

static void the_fastest_wins_when_it_is_clearly_faster(void **state) {
  (void)state;
  gt_trial trials[] = {trial_of("a", 120, 1, 8), trial_of("b", 100, 1, 200)};
  assert_int_equal(gt_choose(trials, 2, -1), 1);
  assert_int_equal(gt_choose(trials, 2, 0), 1);
}

static void among_the_tied_the_fewest_registers_win_then_the_text(void **state) {
  (void)state;
  gt_trial trials[] = {trial_of("c", 100, 1, 64), trial_of("b", 102, 1, 32), trial_of("a", 102.5, 1, 32),
                       trial_of("d", 101, 1, -1)};
  assert_int_equal(gt_choose(trials, 4, -1), 2);
}

static void a_stored_winner_stays_within_noise_and_margin(void **state) {
  (void)state;
  gt_trial margin[] = {trial_of("old", 102, 0.1, 64), trial_of("new", 100, 0.1, 8)};
  assert_int_equal(gt_choose(margin, 2, 0), 0);
  gt_trial noise[] = {trial_of("old", 110, 20, 64), trial_of("new", 100, 20, 8)};
  assert_int_equal(gt_choose(noise, 2, 0), 0);
}

static void what_failed_never_wins(void **state) {
  (void)state;
  gt_trial trials[] = {trial_of("a", 0, 0, 8), trial_of("b", 100, 1, 8)};
  trials[0].outcome = GT_OUTCOME_CRASH;
  assert_int_equal(gt_choose(trials, 2, 0), 1);
  assert_int_equal(gt_choose(trials, 1, -1), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_space_within_the_budget_is_tried_whole),
      cmocka_unit_test(a_larger_space_is_sampled_with_the_defaults_first),
      cmocka_unit_test(a_small_family_is_not_crowded_out),
      cmocka_unit_test(parameters_that_differ_are_counted),
      cmocka_unit_test(a_sample_goes_by_turns_near_the_default_and_anywhere),
      cmocka_unit_test(the_fastest_wins_when_it_is_clearly_faster),
      cmocka_unit_test(among_the_tied_the_fewest_registers_win_then_the_text),
      cmocka_unit_test(a_stored_winner_stays_within_noise_and_margin),
      cmocka_unit_test(what_failed_never_wins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
