// Texts that come from anywhere: what is UTF-8, what becomes of the rest, and that messages are one line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/status.h"
#include "base/utf8.h"

static const struct {
  const char *text;
  size_t length; // of the first character
} characters[] = {
    {"a", 1},
    {"\x7f", 1},
    {"\xc2\x80", 2},
    {"\xdf\xbf", 2},
    {"\xe0\xa0\x80", 3},
    {"\xef\xbf\xbf", 3},
    {"\xf0\x90\x80\x80", 4},
    {"\xf4\x8f\xbf\xbf", 4},
    {"", 0},
    {"\x80", 0},     // a continuation
    {"\xc1\xbf", 0}, // could be written shorter, as the next two
    {"\xe0\x9f\xbf", 0},
    {"\xf0\x8f\xbf\xbf", 0},
    {"\xed\xa0\x80", 0},     // half of a surrogate pair
    {"\xf4\x90\x80\x80", 0}, // behind the last one
    {"\xf5\x80\x80\x80", 0},
    {"\xff", 0},
    {"\xc3", 0}, // cut off, as the next two
    {"\xe2\x82", 0},
    {"\xf0\x9f\x98", 0},
    {"\xc3z", 0},
};

static void characters_are_those_of_rfc_3629(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
    assert_int_equal(gt_utf8_character(characters[i].text), characters[i].length);
    if (*characters[i].text) assert_int_equal(gt_is_utf8(characters[i].text), characters[i].length > 0);
  }
  assert_true(gt_is_utf8("") && gt_is_utf8("16 µs"));
  assert_false(gt_is_utf8("16 µs\xb5"));
}

static void what_is_no_character_becomes_a_question_mark(void **state) {
  (void)state;
  char text[] = "a\xff\xc3\xa9\xe2\x82z\n";
  gt_utf8_repair(text);
  assert_string_equal(text, "a?\xc3\xa9??z\n");
  assert_true(gt_is_utf8(text));
}

static void a_message_is_one_line_whatever_it_repeats(void **state) {
  (void)state;
  gt_error error = {0};
  assert_int_equal(gt_fail(&error, GT_CORRUPT, "%s", "a\n\x1b[31mb\x7f\xc2\x9b\xff\xc3\xa9"), GT_CORRUPT);
  assert_string_equal(error.text, "a  [31mb   ?\xc3\xa9");
}

static void a_message_that_is_too_long_ends_in_no_half_of_a_character(void **state) {
  (void)state;
  gt_error error = {0};
  char text[2 * sizeof error.text];
  for (size_t i = 0; i < sizeof text; i++) text[i] = i % 2 ? '\xa9' : '\xc3';
  text[sizeof text - 2] = 0;
  gt_fail(&error, GT_CORRUPT, "%s", text);
  assert_int_equal(strlen(error.text), sizeof error.text - 1);
  assert_true(gt_is_utf8(error.text));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(characters_are_those_of_rfc_3629),
      cmocka_unit_test(what_is_no_character_becomes_a_question_mark),
      cmocka_unit_test(a_message_is_one_line_whatever_it_repeats),
      cmocka_unit_test(a_message_that_is_too_long_ends_in_no_half_of_a_character),
  };
  return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
