// Reading T4 JSON: what is right comes out, and whatever is wrong gives one line that says what and where.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <zlib.h>

#include "base/buffer.h"
#include "cache/t4.h"

#define RESULT(configuration, rest) \
  "{\"configuration\":" configuration ",\"times\":{},\"correctness\":1," rest "}"
#define GOOD(x, time)                                                                            \
  RESULT("{\"x\":" #x ",\"s\":\"a b\"}", "\"invalidity\":\"correct\",\"objectives\":[\"time\"]," \
                                         "\"measurements\":[{\"name\":\"time\",\"value\":" #time "}]")
#define FILE_OF(results) \
  "{\"schema_version\":\"1.0.0\",\"results\":[" results "],\"metadata\":{\"timeunit\":\"ms\"}}"

typedef struct {
  gt_buffer seen;
  gt_status answer;
} visitor;

static gt_status on_result(void *context, const gt_t4_result *result, gt_error *error) {
  visitor *v = context;
  gt_buffer_print(&v->seen, "%zu", result->number);
  for (size_t i = 0; i < result->count; i++)
    gt_buffer_print(&v->seen, " %s=%s", result->names[i], result->values[i]);
  gt_buffer_print(&v->seen, " %s %g;", result->invalidity, result->time);
  return v->answer == GT_OK ? GT_OK : gt_fail(error, v->answer, "no more");
}

static gt_status read_bytes(const char *bytes, size_t length, visitor *v, gt_error *error) {
  char path[] = "/tmp/gathertune-t4-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, bytes, length), length);
  close(file);
  gt_status status = gt_t4_read(path, on_result, v, error);
  unlink(path);
  return status;
}

static void expect(const char *text, const char *seen) {
  visitor v = {{0}, GT_OK};
  gt_error error = {0};
  if (read_bytes(text, strlen(text), &v, &error) != GT_OK) fail_msg("%s", error.text);
  assert_string_equal(v.seen.data ? v.seen.data : "", seen);
  gt_buffer_free(&v.seen);
}

static void results_come_in_order_with_values_as_text(void **state) {
  (void)state;
  expect(FILE_OF(GOOD(16, 2.5) "," GOOD(32, 1)), "1 x=16 s=a b correct 2.5;2 x=32 s=a b correct 1;");
  expect(FILE_OF(GOOD(0.5, 1) " , " GOOD(true, 3) "\n"), "1 x=0.5 s=a b correct 1;2 x=true s=a b correct 3;");
  expect(FILE_OF(RESULT("{}", "\"invalidity\":\"compile\"") "," RESULT("{\"n\":1}",
                                                                       "\"invalidity\":\"timeout\"")),
         "1 compile 0;2 n=1 timeout 0;");
  expect(FILE_OF(""), "");
  expect("\n{ \"other\" : [1,{\"a\":null}] , \"n\":-1.5e3,\"t\":true,\"results\" : [ ] } \n", "");
}

static void the_first_objective_is_what_counts(void **state) {
  (void)state;
  expect(FILE_OF(RESULT("{\"x\":1}",
                        "\"invalidity\":\"correct\",\"objectives\":[\"GB/s\",\"time\"],\"measurements\":["
                        "{\"name\":\"time\",\"value\":3},{\"name\":\"GB/s\",\"value\":7}]")),
         "1 x=1 correct 7;");
  expect(FILE_OF(RESULT("{\"x\":1}",
                        "\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"time\",\"value\":3}]")),
         "1 x=1 correct 3;");
}

static void a_gzipped_file_reads_the_same(void **state) {
  (void)state;
  char path[] = "/tmp/gathertune-t4-XXXXXX";
  close(mkstemp(path));
  gzFile file = gzopen(path, "wb");
  gzputs(file, FILE_OF(GOOD(16, 2.5)));
  gzclose(file);
  visitor v = {{0}, GT_OK};
  assert_int_equal(gt_t4_read(path, on_result, &v, NULL), GT_OK);
  assert_string_equal(v.seen.data, "1 x=16 s=a b correct 2.5;");
  gt_buffer_free(&v.seen);

  gt_buffer bytes = {0};
  assert_true(gt_buffer_read_file(&bytes, path));
  unlink(path);
  for (size_t length = 0; length < bytes.length; length++) {
    gt_error error = {0};
    assert_int_not_equal(read_bytes(bytes.data, length, &v, &error), GT_OK);
    assert_true(*error.text);
  }
  gt_buffer_free(&v.seen);
  gt_buffer_free(&bytes);
}

static void a_file_that_is_cut_off_anywhere_is_refused_in_one_line(void **state) {
  (void)state;
  const char *text = FILE_OF(GOOD(16, 2.5) "," GOOD(32, 1));
  for (size_t length = 0; length < strlen(text); length++) {
    visitor v = {{0}, GT_OK};
    gt_error error = {0};
    assert_int_equal(read_bytes(text, length, &v, &error), GT_USAGE);
    assert_true(*error.text && !strchr(error.text, '\n'));
    assert_non_null(strstr(error.text, "/tmp/gathertune-t4-"));
    gt_buffer_free(&v.seen);
  }
}

static void what_is_not_as_the_schema_says_is_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
    gt_status status;
  } cases[] = {
      {"", "does not begin with {", GT_USAGE},
      {"[]", "does not begin with {", GT_USAGE},
      {"{}", "ends too early, or lacks a name", GT_USAGE},
      {"{\"a\":1}", "no \"results\"", GT_USAGE},
      {"{\"results\":{}}", "\"results\" is no array", GT_USAGE},
      {"{\"results\":[],\"results\":[]}", "\"results\" twice", GT_USAGE},
      {"{\"results\":[]}x", "more after its end", GT_USAGE},
      {"{\"results\":[],}", "lacks a name in quotes", GT_USAGE},
      {"{\"a\":nonsense,\"results\":[]}", "not JSON", GT_USAGE},
      {"{\"schema_version\":\"2.0.0\",\"results\":[]}", "schema version 2.0.0; versions 1.* can be read",
       GT_UNSUPPORTED},
      {"{\"schema_version\":1,\"results\":[]}", "\"schema_version\" is no text", GT_USAGE},
      {FILE_OF("7"), "result 1: it is no object", GT_USAGE},
      {FILE_OF(GOOD(1, 1) ",{}"), "result 2: it has no object \"configuration\"", GT_USAGE},
      {FILE_OF(GOOD(1, 1) " " GOOD(2, 1)), "result 1: after it, neither a comma", GT_USAGE},
      {FILE_OF(GOOD([1], 1)), "result 1: a parameter's value is neither text nor number", GT_USAGE},
      {FILE_OF(GOOD(1, "fast")), "result 1: it is correct, but its measurement \"time\" is no number above 0",
       GT_USAGE},
      {FILE_OF(GOOD(1, 0)), "no number above 0", GT_USAGE},
      {FILE_OF(GOOD(1, -3)), "no number above 0", GT_USAGE},
      {FILE_OF(RESULT("{}", "\"invalidity\":null")), "result 1: it has no text \"invalidity\"", GT_USAGE},
      {FILE_OF(RESULT("{\"x\":1,\"x\":2}", "\"invalidity\":\"compile\"")), "result 1: not JSON", GT_USAGE},
      {FILE_OF(RESULT("{\"x\":1}", "\"invalidity\":\"correct\"")), "no number above 0", GT_USAGE},
      {"{\"results\":["
       "\xff\xfe"
       "]}",
       "result 1: not JSON", GT_USAGE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    visitor v = {{0}, GT_OK};
    gt_error error = {0};
    assert_int_equal(read_bytes(cases[i].text, strlen(cases[i].text), &v, &error), cases[i].status);
    if (!strstr(error.text, cases[i].says)) fail_msg("%s: %s", cases[i].text, error.text);
    gt_buffer_free(&v.seen);
  }
}

static void deep_nesting_and_many_parameters_are_refused(void **state) {
  (void)state;
  gt_buffer text = {0};
  visitor v = {{0}, GT_OK};
  gt_error error = {0};
  gt_buffer_print(&text, "{\"results\":[");
  for (int i = 0; i < 100000; i++) gt_buffer_print(&text, "[");
  assert_int_equal(read_bytes(text.data, text.length, &v, &error), GT_USAGE);
  gt_buffer_clear(&text);
  gt_buffer_print(&text, "{\"results\":[{\"invalidity\":\"compile\",\"configuration\":{");
  for (int i = 0; i < 300; i++) gt_buffer_print(&text, "%s\"p%d\":1", i ? "," : "", i);
  gt_buffer_print(&text, "}}]}");
  assert_int_equal(read_bytes(text.data, text.length, &v, &error), GT_USAGE);
  assert_non_null(strstr(error.text, "more than 256 parameters"));
  gt_buffer_free(&text);
  gt_buffer_free(&v.seen);
}

static void a_visitor_can_end_it(void **state) {
  (void)state;
  visitor v = {{0}, GT_UNSUPPORTED};
  gt_error error = {0};
  const char *text = FILE_OF(GOOD(1, 1) "," GOOD(2, 1));
  assert_int_equal(read_bytes(text, strlen(text), &v, &error), GT_UNSUPPORTED);
  assert_string_equal(error.text, "no more");
  assert_string_equal(v.seen.data, "1 x=1 s=a b correct 1;");
  gt_buffer_free(&v.seen);
}

static void a_file_that_cannot_be_read_is_named(void **state) {
  (void)state;
  gt_error error = {0};
  assert_int_equal(gt_t4_read("/nonexistent/x.json", on_result, NULL, &error), GT_IO);
  assert_string_equal(error.text, "cannot read /nonexistent/x.json: No such file or directory");
  assert_int_equal(gt_t4_read("/tmp", on_result, NULL, &error), GT_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_come_in_order_with_values_as_text),
      cmocka_unit_test(the_first_objective_is_what_counts),
      cmocka_unit_test(a_gzipped_file_reads_the_same),
      cmocka_unit_test(a_file_that_is_cut_off_anywhere_is_refused_in_one_line),
      cmocka_unit_test(what_is_not_as_the_schema_says_is_named),
      cmocka_unit_test(deep_nesting_and_many_parameters_are_refused),
      cmocka_unit_test(a_visitor_can_end_it),
      cmocka_unit_test(a_file_that_cannot_be_read_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
