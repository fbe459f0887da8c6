// Search spaces as points.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/points.h"

static size_t add(gt_points *points, const char *text) {
  size_t point;
  bool is_new;
  assert_int_equal(gt_points_add_text(points, text, &point, &is_new, NULL), GT_OK);
  return point;
}

static void points_are_numbered_as_they_come_and_found_again(void **state) {
  (void)state;
  gt_points points = {0};
  assert_int_equal(add(&points, "f:a=16,b=x"), 0);
  assert_int_equal(add(&points, "f:a=2,b=y"), 1);
  assert_int_equal(add(&points, "f:a=16,b=x"), 0); // once
  assert_int_equal(add(&points, "g"), 2);
  gt_points_finish(&points);
  assert_int_equal(points.count, 3);
  assert_int_equal(points.n_families, 2);
  assert_int_equal(gt_points_find_text(&points, "f:b=y,a=2"), 1); // in any order
  assert_int_equal(gt_points_find_text(&points, "g"), 2);
  static const char *const absent[] = {"f:a=2,b=x", "f:a=3,b=x", "f:a=2", "f:a=2,c=y",
                                       "g:a=2",     "h",         "",      "f:a"};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    assert_true(gt_points_find_text(&points, absent[i]) == GT_NO_POINT);
  assert_string_equal(gt_points_family(&points, 1)->name, "f");
  assert_string_equal(gt_points_family(&points, 2)->name, "g");
  gt_points_free(&points);
}

static void a_configuration_with_other_parameters_is_refused(void **state) {
  (void)state;
  gt_points points = {0};
  gt_error error;
  size_t point;
  bool is_new;
  add(&points, "f:a=1,b=2");
  static const char *const bad[] = {"f:a=1", "f:a=1,c=2", "f:b=2,a=1", "f:a=1,b=2,c=3", "f:", "F"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(gt_points_add_text(&points, bad[i], &point, &is_new, &error), GT_USAGE);
  assert_int_equal(points.count, 1);
  gt_points_free(&points);
}

static void neighbours_differ_in_one_parameter_and_exist(void **state) {
  (void)state;
  gt_points points = {0};
  size_t home = add(&points, "f:a=1,b=1,c=x"), other_b = add(&points, "f:a=1,b=2,c=x");
  size_t other_a = add(&points, "f:a=4,b=1,c=x"), far = add(&points, "f:a=4,b=2,c=x"), list[8];
  size_t other_c = add(&points, "f:a=1,b=1,c=y");
  gt_points_finish(&points);
  const gt_point_family *family = &points.families[0];
  assert_int_equal(gt_points_most_neighbours(family), 3);
  assert_int_equal(gt_points_neighbours(family, home, list), 3);
  assert_true(list[0] == other_a && list[1] == other_b && list[2] == other_c);
  assert_int_equal(gt_points_neighbours(family, other_c, list), 1);
  assert_int_equal(gt_points_distance(family, home, far), 2);
  assert_int_equal(gt_points_distance(family, home, home), 0);
  gt_points_free(&points);
}

static void numbers_are_ranked_and_odd_ones_known_where_there_are_powers_of_two(void **state) {
  (void)state;
  gt_points points = {0};
  size_t three = add(&points, "f:a=3,b=3,c=x,d=0"), sixteen = add(&points, "f:a=16,b=5,c=16,d=1");
  size_t two = add(&points, "f:a=2,b=3,c=x,d=0");
  gt_points_finish(&points);
  const gt_point_family *family = &points.families[0];
  const size_t *rank = family->axes[0].rank;
  assert_true(rank[0] == 1 && rank[1] == 2 && rank[2] == 0);
  assert_non_null(family->axes[0].numbers);
  assert_null(family->axes[2].numbers);              // not all are numbers
  assert_int_equal(gt_points_odd(family, three), 1); // b has no power of two
  assert_int_equal(gt_points_odd(family, sixteen), 0);
  assert_int_equal(gt_points_odd(family, two), 0);
  assert_true(gt_is_power_of_two(0) && gt_is_power_of_two(1) && gt_is_power_of_two(0.5) &&
              gt_is_power_of_two(4096));
  assert_false(gt_is_power_of_two(3) || gt_is_power_of_two(-2) || gt_is_power_of_two(24));
  gt_points_free(&points);
}

static void a_parameter_with_too_many_values_is_refused(void **state) {
  (void)state;
  gt_points points = {0};
  gt_error error = {0};
  const char *names[] = {"seed"};
  gt_points_add_family(&points, "f", names, 1);
  gt_status status = GT_OK;
  size_t point = 0, i = 0;
  for (; status == GT_OK; i++) {
    char text[16];
    const char *values[] = {text};
    bool is_new;
    snprintf(text, sizeof text, "%zu", i);
    status = gt_points_add(&points, values, &point, &is_new, &error);
  }
  assert_int_equal(i, GT_MAX_VALUES + 1);
  assert_int_equal(status, GT_USAGE);
  assert_string_equal(error.text, "parameter seed of f has more than 4096 values");
  gt_points_finish(&points);
  gt_points_free(&points);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(points_are_numbered_as_they_come_and_found_again),
      cmocka_unit_test(a_configuration_with_other_parameters_is_refused),
      cmocka_unit_test(neighbours_differ_in_one_parameter_and_exist),
      cmocka_unit_test(numbers_are_ranked_and_odd_ones_known_where_there_are_powers_of_two),
      cmocka_unit_test(a_parameter_with_too_many_values_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
