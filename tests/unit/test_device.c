#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/device.h"

#include <string.h>

static void every_back_end_is_found_by_its_name(void **state) {
  (void)state;
  assert_true(gt_backend_count() >= 1);
  for (size_t i = 0; i < gt_backend_count(); i++) {
    const gt_backend *backend = gt_backend_at(i);
    assert_int_equal(backend->version, GT_BACKEND_VERSION);
    assert_ptr_equal(gt_backend_find(backend->name), backend);
    assert_null(gt_backend_missing(backend->name));
  }
  assert_null(gt_backend_at(gt_backend_count()));
}

static void the_recorded_back_end_is_in_every_build_and_comes_last(void **state) {
  (void)state;
  assert_string_equal(gt_backend_at(gt_backend_count() - 1)->name, "recorded");
}

static void a_back_end_is_in_the_build_or_said_how_to_get(void **state) {
  (void)state;
  static const char *const names[] = {"hip", "cuda", "opencl"};
  for (int i = 0; i < 3; i++) {
    const char *missing = gt_backend_missing(names[i]);
    assert_true((missing == NULL) == (gt_backend_find(names[i]) != NULL));
    if (missing) assert_non_null(strstr(missing, "install"));
  }
}

static void an_unknown_back_end_is_neither_there_nor_missing(void **state) {
  (void)state;
  assert_null(gt_backend_find("vulkan"));
  assert_null(gt_backend_find(NULL));
  assert_null(gt_backend_missing("vulkan"));
  assert_null(gt_backend_missing(NULL));
}

static void what_is_no_device_name_is_told_so(void **state) {
  (void)state;
  static const char *const wrong[] = {"",         ":",         ":0",    "vulkan", "vulkan:0",
                                      "recorded", "recorded:", "autos", "gfx942"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    gt_open_device open;
    gt_error error = {0};
    assert_int_equal(gt_device_open(wrong[i], &open, &error), GT_USAGE);
    assert_non_null(strstr(error.text, "is no device name"));
    assert_null(open.device);
  }
}

static void a_device_number_has_only_digits(void **state) {
  (void)state;
  static const char *const names[] = {"hip:", "hip:x", "hip:0x", "hip:-1", "hip: 0", "hip:99999999999"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    gt_open_device open;
    gt_status status = gt_device_open(names[i], &open, NULL);
    assert_int_equal(status, gt_backend_find("hip") ? GT_USAGE : GT_NO_DEVICE);
  }
}

static void a_recorded_file_that_is_not_there_is_an_input_error(void **state) {
  (void)state;
  gt_open_device open;
  gt_error error = {0};
  assert_int_equal(gt_device_open("recorded:/nonexistent/file.json", &open, &error), GT_IO);
  assert_non_null(strstr(error.text, "/nonexistent/file.json"));
}

static void closing_a_device_that_is_not_open_is_harmless(void **state) {
  (void)state;
  gt_open_device open = {0};
  gt_device_close(&open);
  gt_device_close(&open);
  assert_null(open.device);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_back_end_is_found_by_its_name),
      cmocka_unit_test(the_recorded_back_end_is_in_every_build_and_comes_last),
      cmocka_unit_test(a_back_end_is_in_the_build_or_said_how_to_get),
      cmocka_unit_test(an_unknown_back_end_is_neither_there_nor_missing),
      cmocka_unit_test(what_is_no_device_name_is_told_so),
      cmocka_unit_test(a_device_number_has_only_digits),
      cmocka_unit_test(a_recorded_file_that_is_not_there_is_an_input_error),
      cmocka_unit_test(closing_a_device_that_is_not_open_is_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
