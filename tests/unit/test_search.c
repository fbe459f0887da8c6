// The search and its strategies: whatever the strategy, no configuration twice, all of a small space, and the
// same choices again.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/search.h"

// --- spaces

static size_t add_point(gt_points *points, const char *text) {
  size_t point;
  bool is_new;
  gt_error error;
  if (gt_points_add_text(points, text, &point, &is_new, &error) != GT_OK) fail_msg("%s", error.text);
  assert_true(is_new);
  return point;
}

// Two families: one of 4 × 8 × 6 less those with a = 4 and b = 8, one of 5.
static gt_points two_families(void) {
  gt_points points = {0};
  char text[80];
  for (int a = 1; a <= 8; a *= 2)
    for (int b = 1; b <= 8; b++)
      for (int c = 0; c < 6; c++) {
        if (a == 4 && b == 8) continue;
        snprintf(text, sizeof text, "large:a=%d,b=%d,mode=%c", a, b, 'a' + c);
        add_point(&points, text);
      }
  for (int a = 1; a <= 5; a++) {
    snprintf(text, sizeof text, "small:a=%d", a);
    add_point(&points, text);
  }
  gt_points_finish(&points);
  return points;
}

// Fastest at large:a=8,b=4,mode=c; what has mode=f fails; the small family is slow.
static double time_of(const gt_points *points, size_t point) {
  const gt_point_family *family = gt_points_family(points, point);
  const uint16_t *own = gt_points_coordinates(family, point);
  if (family->n_axes == 1) return 100 + own[0];
  if (own[2] == 5) return INFINITY;
  return 10 + 5 * abs((int)own[0] - 3) + 3 * abs((int)own[1] - 3) + (own[2] == 2 ? 0 : 7);
}

// Asks for `length` points, `ahead` of them before the first is reported. Returns how many came.
static size_t play(const gt_points *points, const char *strategy, uint64_t seed, size_t ahead, size_t *order,
                   size_t length) {
  gt_search *search;
  const gt_search_options options = {.strategy = strategy, .seed = seed};
  assert_int_equal(gt_search_open(points, &options, &search, NULL), GT_OK);
  size_t asked = 0, done = 0;
  while (done < length) {
    while (asked < length && asked - done < ahead) {
      size_t point = gt_search_next(search);
      if (point == GT_NO_POINT) break;
      assert_true(point < points->count);
      order[asked++] = point;
    }
    if (asked == done) break;
    gt_search_report(search, order[done], time_of(points, order[done]));
    done++;
  }
  gt_search_close(search);
  return asked;
}

static void expect_different(const size_t *order, size_t count, size_t points) {
  bool *seen = calloc(points, sizeof *seen);
  for (size_t i = 0; i < count; i++) {
    assert_false(seen[order[i]]);
    seen[order[i]] = true;
  }
  free(seen);
}

// --- all strategies

static void every_strategy_tries_all_of_a_space_and_nothing_twice(void **state) {
  (void)state;
  gt_points points = two_families();
  size_t *order = calloc(points.count + 10, sizeof *order);
  for (size_t i = 0; gt_strategies[i]; i++)
    for (size_t ahead = 1; ahead <= 16; ahead = ahead * 4) {
      assert_int_equal(play(&points, gt_strategies[i]->name, 7, ahead, order, points.count + 10),
                       points.count);
      expect_different(order, points.count, points.count);
    }
  free(order);
  gt_points_free(&points);
}

static void the_same_calls_give_the_same_points_and_another_seed_others(void **state) {
  (void)state;
  gt_points points = two_families();
  size_t one[60], again[60], other[60];
  for (size_t i = 0; gt_strategies[i]; i++)
    for (size_t ahead = 1; ahead <= 16; ahead += 15) {
      const char *name = gt_strategies[i]->name;
      assert_int_equal(play(&points, name, 3, ahead, one, 60), 60);
      assert_int_equal(play(&points, name, 3, ahead, again, 60), 60);
      assert_int_equal(play(&points, name, 4, ahead, other, 60), 60);
      assert_memory_equal(one, again, sizeof one);
      if (strcmp(name, "exhaustive") != 0) assert_memory_not_equal(one, other, sizeof one);
    }
  gt_points_free(&points);
}

static void a_large_space_of_which_a_part_is_looked_at_is_searched_without_repetition(void **state) {
  (void)state;
  gt_points points = {0};
  const char *names[] = {"a", "b", "c"};
  gt_points_add_family(&points, "f", names, 3);
  for (int i = 0; i < 20 * 30 * 40; i++) {
    char a[8], b[8], c[8];
    const char *values[] = {a, b, c};
    size_t point;
    bool is_new;
    snprintf(a, sizeof a, "%d", i % 20), snprintf(b, sizeof b, "%d", i / 20 % 30),
        snprintf(c, sizeof c, "%d", i / 600);
    assert_int_equal(gt_points_add(&points, values, &point, &is_new, NULL), GT_OK);
  }
  gt_points_finish(&points);
  gt_search *search;
  assert_int_equal(gt_search_open(&points, &(gt_search_options){.seed = 1, .budget = 40}, &search, NULL),
                   GT_OK);
  assert_string_equal(gt_search_strategy(search), "bayes");
  size_t order[40];
  double best = INFINITY;
  for (size_t i = 0; i < 40; i++) {
    order[i] = gt_search_next(search);
    const uint16_t *own = gt_points_coordinates(&points.families[0], order[i]);
    double us = 1 + hypot(own[0] - 12.0, hypot(own[1] - 7.0, own[2] - 30.0));
    if (us < best) best = us;
    gt_search_report(search, order[i], us);
  }
  expect_different(order, 40, points.count);
  assert_true(best < 4); // one of about 120 in 24000; chance would take 140 trials
  gt_search_close(search);
  gt_points_free(&points);
}

static void more_reports_than_the_process_holds_do_no_harm(void **state) {
  (void)state;
  gt_points points = {0};
  const char *names[] = {"a", "b"};
  gt_points_add_family(&points, "f", names, 2);
  for (int i = 0; i < 600; i++) {
    char a[8], b[8];
    const char *values[] = {a, b};
    size_t point;
    bool is_new;
    snprintf(a, sizeof a, "%d", i % 20), snprintf(b, sizeof b, "%d", i / 20);
    assert_int_equal(gt_points_add(&points, values, &point, &is_new, NULL), GT_OK);
  }
  gt_points_finish(&points);
  gt_search *search;
  assert_int_equal(gt_search_open(&points, &(gt_search_options){.strategy = "bayes"}, &search, NULL), GT_OK);
  // All but the last ten are known already.
  for (size_t i = 0; i < 590; i++)
    gt_search_report(search, i, i % 7 == 0 ? INFINITY : 100 + (double)(i % 20));
  size_t order[10];
  for (size_t i = 0; i < 10; i++) {
    order[i] = gt_search_next(search);
    assert_in_range(order[i], 590, 599);
  }
  expect_different(order, 10, 600);
  assert_true(gt_search_next(search) == GT_NO_POINT);
  gt_search_close(search);
  gt_points_free(&points);
}

static void where_everything_fails_the_search_goes_on_to_the_end(void **state) {
  (void)state;
  gt_points points = two_families();
  for (size_t i = 0; gt_strategies[i]; i++) {
    gt_search *search;
    assert_int_equal(
        gt_search_open(&points, &(gt_search_options){.strategy = gt_strategies[i]->name}, &search, NULL),
        GT_OK);
    size_t count = 0;
    for (size_t point; (point = gt_search_next(search)) != GT_NO_POINT; count++)
      gt_search_report(search, point, count % 3 ? INFINITY : NAN);
    assert_int_equal(count, points.count);
    gt_search_close(search);
  }
  gt_points_free(&points);
}

// --- what it begins with

static void first_come_the_given_points_then_the_defaults_then_the_strategy(void **state) {
  (void)state;
  gt_points points = two_families();
  points.families[0].standard = 11;
  points.families[1].standard = points.families[1].first + 2;
  const size_t first[] = {40, 11, 40};
  gt_search *search;
  const gt_search_options options = {.strategy = "random", .seed = 5, .first = first, .n_first = 3};
  assert_int_equal(gt_search_open(&points, &options, &search, NULL), GT_OK);
  gt_search_report(search, 3, 9); // known without having been proposed
  gt_search_take(search, 4);
  assert_int_equal(gt_search_next(search), 40);
  assert_int_equal(gt_search_next(search), 11);
  assert_int_equal(gt_search_next(search), points.families[1].first + 2);
  size_t count = 5;
  for (size_t point; (point = gt_search_next(search)) != GT_NO_POINT; count++)
    assert_true(point != 3 && point != 4 && point != 40 && point != 11);
  assert_int_equal(count, points.count);
  gt_search_close(search);
  gt_points_free(&points);
}

static void the_default_strategy_is_exhaustive_when_the_budget_allows_it(void **state) {
  (void)state;
  gt_points points = two_families();
  gt_search *search;
  gt_search_options options = {.budget = points.count};
  assert_int_equal(gt_search_open(&points, &options, &search, NULL), GT_OK);
  assert_string_equal(gt_search_strategy(search), "exhaustive");
  assert_false(gt_search_learns(search));
  gt_search_close(search);
  options.budget--;
  assert_int_equal(gt_search_open(&points, &options, &search, NULL), GT_OK);
  assert_string_equal(gt_search_strategy(search), "bayes");
  assert_true(gt_search_learns(search));
  gt_search_close(search);
  gt_error error;
  assert_int_equal(gt_search_open(&points, &(gt_search_options){.strategy = ""}, &search, &error), GT_USAGE);
  assert_null(search);
  gt_points_free(&points);
}

static void a_small_family_is_not_crowded_out_of_the_first_points(void **state) {
  (void)state;
  gt_points points = two_families();
  static const char *const strategies[] = {"descent", "bayes"};
  for (size_t i = 0; i < 2; i++) {
    size_t order[8], small = 0;
    play(&points, strategies[i], 1, 1, order, 8);
    for (size_t k = 0; k < 8; k++) small += order[k] >= points.families[1].first;
    assert_in_range(small, 1, 3);
  }
  gt_points_free(&points);
}

static void the_first_points_have_no_odd_values_and_promise_most(void **state) {
  (void)state;
  gt_points points = two_families();
  double *expected = calloc(points.count, sizeof *expected);
  for (size_t i = 0; i < points.count; i++)
    expected[i] = i < points.families[1].first && i % 6 == 2 ? 0 : 5; // mode=c
  gt_search *search;
  const gt_search_options options = {.strategy = "bayes", .expected = expected};
  assert_int_equal(gt_search_open(&points, &options, &search, NULL), GT_OK);
  size_t promising = 0;
  for (int i = 0; i < 6; i++) {
    size_t point = gt_search_next(search);
    const gt_point_family *family = gt_points_family(&points, point);
    assert_int_equal(gt_points_odd(family, point), 0);
    promising += family->n_axes == 3 && expected[point] == 0;
  }
  assert_true(promising >= 3);
  gt_search_close(search);
  free(expected);
  gt_points_free(&points);
}

// --- what they find

static size_t trials_to_the_best(const gt_points *points, const char *strategy, uint64_t seed) {
  size_t *order = calloc(points->count, sizeof *order),
         n = play(points, strategy, seed, 1, order, points->count);
  for (size_t i = 0; i < n; i++)
    if (time_of(points, order[i]) == 10) {
      free(order);
      return i + 1;
    }
  fail_msg("%s never found it", strategy);
  return 0;
}

static void strategies_that_learn_find_the_best_sooner_than_chance(void **state) {
  (void)state;
  gt_points points = two_families();
  double chance = ((double)points.count + 1) / 2, descent = 0, bayes = 0;
  for (uint64_t seed = 0; seed < 10; seed++) {
    descent += (double)trials_to_the_best(&points, "descent", seed) / 10;
    bayes += (double)trials_to_the_best(&points, "bayes", seed) / 10;
  }
  assert_true(descent < chance / 2);
  assert_true(bayes < chance / 3);
  gt_points_free(&points);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_strategy_tries_all_of_a_space_and_nothing_twice),
      cmocka_unit_test(the_same_calls_give_the_same_points_and_another_seed_others),
      cmocka_unit_test(a_large_space_of_which_a_part_is_looked_at_is_searched_without_repetition),
      cmocka_unit_test(more_reports_than_the_process_holds_do_no_harm),
      cmocka_unit_test(where_everything_fails_the_search_goes_on_to_the_end),
      cmocka_unit_test(first_come_the_given_points_then_the_defaults_then_the_strategy),
      cmocka_unit_test(the_default_strategy_is_exhaustive_when_the_budget_allows_it),
      cmocka_unit_test(a_small_family_is_not_crowded_out_of_the_first_points),
      cmocka_unit_test(the_first_points_have_no_odd_values_and_promise_most),
      cmocka_unit_test(strategies_that_learn_find_the_best_sooner_than_chance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
