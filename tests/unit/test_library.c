#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "device/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The library of all these tests is the C library's mathematics, under names of the tests' own where it is to
// be searched.
#define REAL_NAME "libm.so.6"
#define TEST_NAME "libgathertune-test.so"

typedef struct {
  double (*cosine)(double);
  double (*absent)(double);
} functions;

static const gt_symbol cosine = {"cos", NULL, offsetof(functions, cosine), true};
static const gt_symbol renamed_cosine = {"cos_v2", "cos", offsetof(functions, cosine), true};
static const gt_symbol optional = {"gt_no_such_function", NULL, offsetof(functions, absent), false};
static const gt_symbol required = {"gt_no_such_function", NULL, offsetof(functions, absent), true};

static const char *const no_folders[] = {NULL};
static const char *const real_names[] = {REAL_NAME, NULL};
static const char *const test_names[] = {TEST_NAME ".2", TEST_NAME, NULL};

// A new folder, with a link of TEST_NAME in it to the real library, or with `text` for the library.
static char *make_folder(const char *text) {
  char *folder = gt_strdup("/tmp/gathertune-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  char *path = gt_print("%s/" TEST_NAME, folder);
  if (text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
  } else {
    // Called through a pointer that the compiler cannot see through, so that it is the library's own.
    double (*volatile function)(double) = cos;
    char *real = realpath(gt_library_path((const void *)(uintptr_t)function), NULL);
    assert_non_null(real);
    assert_int_equal(symlink(real, path), 0);
    free(real);
  }
  free(path);
  return folder;
}

static void remove_folder(char *folder) {
  char *path = gt_print("%s/" TEST_NAME, folder);
  unlink(path);
  rmdir(folder);
  free(path);
  free(folder);
}

static void functions_of_a_library_can_be_called(void **state) {
  (void)state;
  const gt_library library = {"mathematics", real_names, no_folders};
  functions table = {0};
  gt_error error = {0};
  assert_int_equal(gt_library_open(&library, &cosine, 1, &table, &error), GT_OK);
  assert_true(table.cosine(0) == 1);
}

static void an_optional_function_that_is_missing_is_null(void **state) {
  (void)state;
  const gt_library library = {"mathematics", real_names, no_folders};
  const gt_symbol symbols[] = {cosine, optional};
  functions table = {.absent = cos};
  assert_int_equal(gt_library_open(&library, symbols, 2, &table, NULL), GT_OK);
  assert_non_null((void *)(uintptr_t)table.cosine);
  assert_null((void *)(uintptr_t)table.absent);
}

static void a_function_is_found_by_its_older_name(void **state) {
  (void)state;
  const gt_library library = {"mathematics", real_names, no_folders};
  functions table = {0};
  assert_int_equal(gt_library_open(&library, &renamed_cosine, 1, &table, NULL), GT_OK);
  assert_true(table.cosine(0) == 1);
}

static void a_missing_required_function_is_named(void **state) {
  (void)state;
  const gt_library library = {"mathematics", real_names, no_folders};
  const gt_symbol symbols[] = {cosine, required};
  functions table = {0};
  gt_error error = {0};
  assert_int_equal(gt_library_open(&library, symbols, 2, &table, &error), GT_NO_LIBRARY);
  assert_non_null(strstr(error.text, REAL_NAME ": has no symbol gt_no_such_function"));
}

static void a_failure_names_every_path_that_was_tried(void **state) {
  (void)state;
  static const char *const folders[] = {"$GT_TEST_UNSET/lib", "/nonexistent/lib", NULL};
  const gt_library library = {"the test library", test_names, folders};
  functions table = {0};
  gt_error error = {0};
  unsetenv("GT_TEST_UNSET");
  assert_int_equal(gt_library_open(&library, &cosine, 1, &table, &error), GT_NO_LIBRARY);
  assert_int_equal(error.status, GT_NO_LIBRARY);
  assert_string_equal(error.text, "the test library was not found: there is no " TEST_NAME ".2, " TEST_NAME
                                  ", /nonexistent/lib/" TEST_NAME ".2, /nonexistent/lib/" TEST_NAME);
}

static void a_folder_that_an_environment_variable_names_is_searched(void **state) {
  (void)state;
  static const char *const folders[] = {"/nonexistent", "$GT_TEST_HOME/.", NULL};
  const gt_library library = {"the test library", test_names, folders};
  functions table = {0};
  gt_error error = {0};
  char *folder = make_folder(NULL);
  setenv("GT_TEST_HOME", folder, 1);
  gt_status status = gt_library_open(&library, &cosine, 1, &table, &error);
  unsetenv("GT_TEST_HOME");
  remove_folder(folder);
  assert_string_equal(error.text, "");
  assert_int_equal(status, GT_OK);
  assert_true(table.cosine(0) == 1);
}

static void a_library_that_cannot_be_opened_is_told_with_the_reason(void **state) {
  (void)state;
  char *folder =
      make_folder("this is no library, and long enough to have been the header of one if it had been");
  const char *const folders[] = {folder, NULL};
  const gt_library library = {"the test library", test_names, folders};
  functions table = {0};
  gt_error error = {0};
  gt_status status = gt_library_open(&library, &cosine, 1, &table, &error);
  char *expected = gt_print("; %s/" TEST_NAME ": ", folder);
  remove_folder(folder);
  assert_int_equal(status, GT_NO_LIBRARY);
  const char *reason = strstr(error.text, expected);
  assert_non_null(reason);
  assert_true(strlen(reason) > strlen(expected));
  free(expected);
}

static void a_loaded_library_comes_before_a_better_name(void **state) {
  (void)state;
  // The first name would be found in the folder; the second is in the process already.
  static const char *const names[] = {TEST_NAME, REAL_NAME, NULL};
  char *folder = make_folder("not a library");
  const char *const folders[] = {folder, NULL};
  const gt_library library = {"mathematics", names, folders};
  functions table = {0};
  gt_error error = {0};
  gt_status status = gt_library_open(&library, &cosine, 1, &table, &error);
  remove_folder(folder);
  assert_int_equal(status, GT_OK);
  assert_non_null(strstr(gt_library_path((const void *)(uintptr_t)table.cosine), "libm"));
}

static void a_function_of_no_library_has_no_path(void **state) {
  (void)state;
  assert_string_equal(gt_library_path(NULL), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_of_a_library_can_be_called),
      cmocka_unit_test(an_optional_function_that_is_missing_is_null),
      cmocka_unit_test(a_function_is_found_by_its_older_name),
      cmocka_unit_test(a_missing_required_function_is_named),
      cmocka_unit_test(a_failure_names_every_path_that_was_tried),
      cmocka_unit_test(a_folder_that_an_environment_variable_names_is_searched),
      cmocka_unit_test(a_library_that_cannot_be_opened_is_told_with_the_reason),
      cmocka_unit_test(a_loaded_library_comes_before_a_better_name),
      cmocka_unit_test(a_function_of_no_library_has_no_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
