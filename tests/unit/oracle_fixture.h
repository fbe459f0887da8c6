// The oracle's cases for unit tests, read without the program's own reader. See tests/oracle/README.md.
#ifndef GT_TESTS_ORACLE_FIXTURE_H
#define GT_TESTS_ORACLE_FIXTURE_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/problem.h"

enum { ORACLE_STATIC_CASES = 132 };

typedef struct {
  const char *id;
  gt_problem problem;             // layout nchw
  double *grad_output, *expected; // expected values of f16 and bf16 cases are not rounded to these types
} oracle_case;

// An array of the oracle as doubles. The caller frees it.
static double *oracle_array(const gt_buffer *blob, const json_t *array, int64_t length) {
  size_t offset = (size_t)json_integer_value(json_object_get(array, "offset"));
  bool wide = strcmp(json_string_value(json_object_get(array, "type")), "f64") == 0;
  assert_true(offset + (size_t)length * (wide ? 8 : 4) <= blob->length);
  double *values = gt_alloc((size_t)length * sizeof *values);
  for (size_t i = 0; i < (size_t)length; i++) {
    float narrow;
    if (wide) {
      memcpy(&values[i], blob->data + offset + i * 8, 8);
    } else {
      memcpy(&narrow, blob->data + offset + i * 4, 4);
      values[i] = narrow;
    }
  }
  return values;
}

static gt_problem oracle_problem(const json_t *test) {
  json_t *args = json_object_get(test, "args"), *in = json_object_get(args, "input_size"),
         *out = json_object_get(args, "output_size"), *scales = json_object_get(args, "scales");
  gt_problem problem = {.op = gt_operator_find(json_string_value(json_object_get(test, "op"))),
                        .in = {1, 1, 1},
                        .out = {1, 1, 1},
                        .scale = {1, 1, 1}};
  int axes = problem.op->spatial_axes;
  assert_int_equal(json_array_size(out), axes);
  problem.n = json_integer_value(json_array_get(in, 0));
  problem.c = json_integer_value(json_array_get(in, 1));
  for (int i = 0; i < axes; i++) {
    problem.in[GT_AXES - axes + i] = json_integer_value(json_array_get(in, (size_t)i + 2));
    problem.out[GT_AXES - axes + i] = json_integer_value(json_array_get(out, (size_t)i));
    if (!json_is_array(scales)) continue;
    problem.has_scale = true;
    problem.scale[GT_AXES - axes + i] = json_number_value(json_array_get(scales, (size_t)i));
  }
  problem.align_corners =
      problem.op->keys & GT_KEY_ALIGN_CORNERS && json_is_true(json_object_get(args, "align_corners"));
  assert_true(gt_dtype_from_name(json_string_value(json_object_get(test, "dtype")), &problem.dtype));
  return problem;
}

// Visits the cases of the separable operators, and counts them.
static int oracle_each(void (*visit)(const oracle_case *one)) {
  gt_buffer blob = {0}, lines = {0};
  int visited = 0;
  assert_true(gt_buffer_read_file(&blob, "tests/oracle/open.bin"));
  assert_true(gt_buffer_read_file(&lines, "tests/oracle/open.jsonl"));
  for (char *rest = lines.data, *line; (line = strsep(&rest, "\n"));) {
    if (!*line) continue;
    json_t *test = json_loads(line, 0, NULL);
    assert_non_null(test);
    const gt_operator *op = gt_operator_find(json_string_value(json_object_get(test, "op")));
    if (op && op->form == GT_FORM_SEPARABLE) {
      oracle_case one = {.id = json_string_value(json_object_get(test, "id")),
                         .problem = oracle_problem(test)};
      one.grad_output = oracle_array(&blob, json_object_get(json_object_get(test, "inputs"), "grad_output"),
                                     gt_problem_out_elements(&one.problem));
      one.expected = oracle_array(&blob, json_object_get(json_object_get(test, "expect"), "grad_input"),
                                  gt_problem_in_elements(&one.problem));
      visit(&one);
      free(one.grad_output);
      free(one.expected);
      visited++;
    }
    json_decref(test);
  }
  gt_buffer_free(&blob);
  gt_buffer_free(&lines);
  return visited;
}

#endif
