// What trials of other problems tell about one.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "generator/distance.h"
#include "tuner/history.h"

static gt_problem problem(const char *text) {
  gt_problem result;
  gt_error error;
  if (gt_problem_parse(text, &result, &error) != GT_OK) fail_msg("%s", error.text);
  return result;
}

#define LINEAR(rest) "upsample_bilinear2d_backward:n=8,c=64,in=64x64,out=128x128," rest

static gt_points points_of(const char *const *texts, size_t count) {
  gt_points points = {0};
  for (size_t i = 0; i < count; i++) {
    size_t point;
    bool is_new;
    assert_int_equal(gt_points_add_text(&points, texts[i], &point, &is_new, NULL), GT_OK);
  }
  gt_points_finish(&points);
  return points;
}

static const char *const space[] = {"taps:vx=1,block=64",  "taps:vx=1,block=256", "taps:vx=4,block=64",
                                    "taps:vx=4,block=256", "reduce:split=4",      "reduce:split=8"};
enum { SPACE = sizeof space / sizeof *space };

// vx=4 is fast, block hardly counts, reduce is slow.
static double us(const char *configuration) {
  double time = strstr(configuration, "reduce") ? 100 : strstr(configuration, "vx=4") ? 10 : 30;
  return strstr(configuration, "block=256") ? 1.1 * time : time;
}

static void unlike_problems_are_farther_than_like_ones(void **state) {
  (void)state;
  gt_problem one = problem(LINEAR("dtype=f32")),
             batch = problem("upsample_bilinear2d_backward:n=4,c=64,in=64x64,out=128x128,dtype=f32");
  gt_problem half = problem(LINEAR("dtype=f16")), last = problem(LINEAR("dtype=f32,layout=nhwc"));
  gt_problem ratio = problem("upsample_bilinear2d_backward:n=8,c=64,in=64x64,out=256x256,dtype=f32");
  gt_problem cubic = problem("upsample_bicubic2d_backward:n=8,c=64,in=64x64,out=128x128,dtype=f32");
  assert_true(gt_problem_distance(&one, &one) == 0);
  assert_true(gt_problem_distance(&one, &batch) > 0);
  assert_true(gt_problem_distance(&one, &batch) < gt_problem_distance(&one, &half));
  assert_true(gt_problem_distance(&one, &half) < gt_problem_distance(&one, &cubic));
  assert_true(gt_problem_distance(&one, &cubic) < gt_problem_distance(&one, &ratio));
  assert_true(gt_problem_distance(&one, &ratio) < gt_problem_distance(&one, &last));
  assert_true(gt_problem_distance(&last, &one) == gt_problem_distance(&one, &last));
}

static void what_was_fast_elsewhere_is_expected_to_be_fast(void **state) {
  (void)state;
  gt_history *history = gt_history_new();
  gt_problem half = problem(LINEAR("dtype=f16")), one = problem(LINEAR("dtype=f32"));
  for (size_t i = 0; i < SPACE; i++)
    if (i != 2) gt_history_add(history, &half, space[i], us(space[i])); // vx=4,block=64 was not tried
  assert_int_equal(gt_history_problems(history), 1);
  gt_points points = points_of(space, SPACE);
  gt_history_view view;
  gt_history_look(history, &one, &points, &view);
  assert_int_equal(view.n_first, 1);
  assert_int_equal(view.first[0], 3); // the best of what was tried
  const double *e = view.expected;
  assert_non_null(e);
  assert_true(e[3] < e[1] && e[2] < e[1] && e[2] < e[0]); // its neighbour is thought well of
  assert_true(e[0] < e[4] && e[1] < e[5]);
  gt_history_view_free(&view);
  gt_points_free(&points);
  gt_history_free(history);
}

static void a_problem_is_not_told_of_itself_nor_by_failures_of_others(void **state) {
  (void)state;
  gt_history *history = gt_history_new();
  gt_problem one = problem(LINEAR("dtype=f32")), half = problem(LINEAR("dtype=f16"));
  gt_points points = points_of(space, SPACE);
  gt_history_view view;
  gt_history_look(history, &one, &points, &view);
  assert_true(!view.expected && view.n_first == 0);
  for (size_t i = 0; i < SPACE; i++) gt_history_add(history, &one, space[i], us(space[i]));
  for (size_t i = 0; i < SPACE; i++) gt_history_add(history, &half, space[i], INFINITY);
  gt_history_look(history, &one, &points, &view);
  assert_true(!view.expected && view.n_first == 0);
  gt_points_free(&points);
  gt_history_free(history);
}

static void the_nearest_problems_winners_come_first_where_they_are_legal(void **state) {
  (void)state;
  gt_history *history = gt_history_new();
  gt_problem one = problem(LINEAR("dtype=f32")), half = problem(LINEAR("dtype=f16"));
  gt_problem last = problem(LINEAR("dtype=f32,layout=nhwc"));
  gt_history_add(history, &last, "reduce:split=8", 5);
  gt_history_add(history, &half, "taps:vx=8,block=64", 1);            // not among the points
  gt_history_add(history, &half, "taps:vx=4,halo=exact,block=64", 2); // of a later template
  gt_history_add(history, &half, "taps:vx=1,block=256", 3);
  gt_history_add(history, &half, "no configuration", 0.1);
  gt_points points = points_of(space, SPACE);
  gt_history_view view;
  gt_history_look(history, &one, &points, &view);
  assert_int_equal(view.n_first, 2);
  assert_int_equal(view.first[0], 1);
  assert_int_equal(view.first[1], 5);
  assert_null(view.expected); // four trials are too few
  gt_history_view_free(&view);
  gt_points_free(&points);
  gt_history_free(history);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unlike_problems_are_farther_than_like_ones),
      cmocka_unit_test(what_was_fast_elsewhere_is_expected_to_be_fast),
      cmocka_unit_test(a_problem_is_not_told_of_itself_nor_by_failures_of_others),
      cmocka_unit_test(the_nearest_problems_winners_come_first_where_they_are_legal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
