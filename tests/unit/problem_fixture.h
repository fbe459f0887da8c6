// What tests of problems' texts share.
#ifndef GT_TESTS_UNIT_PROBLEM_FIXTURE_H
#define GT_TESTS_UNIT_PROBLEM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "generator/problem.h"

static inline gt_problem parse(const char *text) {
  gt_problem problem;
  gt_error error = {0};
  if (gt_problem_parse(text, &problem, &error)) fail_msg("%s: %s", text, error.text);
  return problem;
}

// It prints so, and what is printed prints to itself.
static inline void canonical(const char *text, const char *expected) {
  char printed[GT_PROBLEM_TEXT];
  gt_problem problem = parse(text);
  gt_problem_print(&problem, printed);
  assert_string_equal(printed, expected);
  problem = parse(printed);
  gt_problem_print(&problem, printed);
  assert_string_equal(printed, expected);
}

static inline void refused(const char *text, const char *expected) {
  gt_problem problem;
  gt_error error = {0};
  assert_int_equal(gt_problem_parse(text, &problem, &error), GT_USAGE);
  assert_int_equal(error.status, GT_USAGE);
  assert_string_equal(error.text, expected);
}

#endif
