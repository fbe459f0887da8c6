// Which trial wins.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/choose.h"

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

static void the_tied_are_told_in_the_order_of_preference(void **state) {
  (void)state;
  gt_trial trials[] = {trial_of("c", 100, 1, 64), trial_of("b", 102, 1, 32), trial_of("a", 102.5, 1, 32),
                       trial_of("d", 101, 1, -1), trial_of("e", 110, 1, 8)};
  size_t ties[5];
  assert_int_equal(gt_choose_ties(trials, 5, 2, ties), 3);
  assert_true(ties[0] == 1 && ties[1] == 0 && ties[2] == 3);
  trials[0].outcome = GT_OUTCOME_TIMEOUT;
  assert_int_equal(gt_choose_ties(trials, 1, -1, ties), 0);
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

static void everywhere_the_least_of_largest_regrets_wins(void **state) {
  (void)state;
  // Classes by column: the first is the best twice and bad once, the second never bad.
  const double us[] = {10, 20, 90, 12, 25, 33, 11, 0, 30};
  const char *const names[] = {"a", "b", "c"};
  double regret = 0;
  assert_int_equal(gt_choose_everywhere(us, names, 3, 3, &regret), 1);
  assert_true(fabs(regret - 1.25) < 1e-12);
  const double equal[] = {10, 20, 20, 10};
  assert_int_equal(gt_choose_everywhere(equal, (const char *const[]){"z", "y"}, 2, 2, &regret), 1);
  const double failed[] = {10, 0};
  assert_int_equal(gt_choose_everywhere(failed, names, 1, 2, &regret), -1);
}

static void one_time_for_all_classes_is_their_geometric_mean_or_none(void **state) {
  (void)state;
  const double us[] = {2, 4, 8}, missing[] = {2, 0, 8}, alone[] = {0.1};
  assert_true(fabs(gt_time_everywhere(us, 3) - 4) < 1e-12);
  assert_true(gt_time_everywhere(missing, 3) == 0);
  assert_true(gt_time_everywhere(alone, 1) == 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fastest_wins_when_it_is_clearly_faster),
      cmocka_unit_test(among_the_tied_the_fewest_registers_win_then_the_text),
      cmocka_unit_test(the_tied_are_told_in_the_order_of_preference),
      cmocka_unit_test(a_stored_winner_stays_within_noise_and_margin),
      cmocka_unit_test(what_failed_never_wins),
      cmocka_unit_test(everywhere_the_least_of_largest_regrets_wins),
      cmocka_unit_test(one_time_for_all_classes_is_their_geometric_mean_or_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
