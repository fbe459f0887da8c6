// NumPy's files, good and bad.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "tuner/npy.h"

#define HEADER "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3, 2), }"

// A file of a version with this header and so many bytes behind it.
static gt_buffer file_of(int version, const char *header, const void *data, size_t bytes) {
  gt_buffer file = {0};
  size_t length = strlen(header);
  const char start[] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y', (char)version, 0, (char)(length & 255), (char)(length >> 8), 0, 0};
  gt_buffer_append(&file, start, version == 1 ? 10 : 12);
  gt_buffer_append(&file, header, length);
  gt_buffer_append(&file, data, bytes);
  return file;
}

static void arrays_of_all_widths_and_versions_are_read(void **state) {
  (void)state;
  const uint16_t halves[] = {0x3c00, 0xc000}; // 1, -2
  const float floats[] = {1, -2};
  const double doubles[] = {1, -2};
  const struct {
    int version;
    const char *header;
    const void *data;
    size_t bytes;
  } files[] = {
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", halves, sizeof halves},
      {2, "{'shape': (1, 2), 'fortran_order': False, 'descr': '<f4'}", floats, sizeof floats},
      {3, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }        \n", doubles, sizeof doubles},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    gt_buffer file = file_of(files[i].version, files[i].header, files[i].data, files[i].bytes);
    gt_npy array;
    gt_error error = {0};
    if (gt_npy_parse("x.npy", file.data, file.length, 0, NULL, &array, &error) != GT_OK) fail_msg("%s", error.text);
    assert_int_equal(array.dimensions, i ? 2 : 1);
    assert_int_equal(array.shape[0], i == 1 ? 1 : 2);
    assert_true(array.values[0] == 1 && array.values[1] == -2);
    gt_npy_free(&array);
    gt_buffer_free(&file);
  }
}

static void what_is_no_such_array_is_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *header, *words;
  } files[] = {
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "its numbers are '<i4', and should be"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "are '>f4', and should be little-endian"},
      {"{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (2,), }", "are [('x', and should be"},
      {"{'fortran_order': False, 'shape': (2,), }", "are of no type, and should be"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", "in Fortran order, and should be in C order"},
      {"{'descr': '<f4', 'shape': (2,), }", "does not say 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -1), }", "shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000, 1000000), }", "shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", "shape"},
      {"{'descr': '<f4', 'fortran_order': False}", "shape"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "shorter than its shape"},
      {"", "float16, float32 or float64"},
  };
  const float data[] = {1, 2};
  gt_npy array;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    gt_error error = {0};
    gt_buffer file = file_of(1, files[i].header, data, sizeof data);
    assert_int_equal(gt_npy_parse("x.npy", file.data, file.length, 0, NULL, &array, &error), GT_USAGE);
    if (!strstr(error.text, files[i].words) || !strstr(error.text, "x.npy")) fail_msg("%s: %s", files[i].header, error.text);
    gt_buffer_free(&file);
  }
}

static void another_shape_or_version_is_told_beside_the_one_that_is_wanted(void **state) {
  (void)state;
  static const int64_t wanted[] = {2, 1, 3, 2}, other[] = {2, 1, 3, 1}, line[] = {12};
  const float data[12] = {0};
  gt_npy array;
  gt_error error = {0};
  gt_buffer file = file_of(1, HEADER, data, sizeof data);
  assert_int_equal(gt_npy_parse("x.npy", file.data, file.length, 4, wanted, &array, &error), GT_OK);
  gt_npy_free(&array);
  assert_int_equal(gt_npy_parse("x.npy", file.data, file.length, 4, other, &array, &error), GT_USAGE);
  assert_string_equal(error.text, "x.npy: its shape is (2, 1, 3, 2), and should be (2, 1, 3, 1)");
  assert_int_equal(gt_npy_parse("x.npy", file.data, file.length, 1, line, &array, &error), GT_USAGE);
  assert_string_equal(error.text, "x.npy: its shape is (2, 1, 3, 2), and should be (12,)");
  file.data[6] = 9;
  assert_int_equal(gt_npy_parse("x.npy", file.data, file.length, 4, wanted, &array, &error), GT_USAGE);
  assert_string_equal(error.text, "x.npy: a .npy file of version 9.0; known are 1 to 3");
  gt_buffer_free(&file);
}

static void a_file_that_has_no_end_is_read_as_far_as_its_array_goes(void **state) {
  (void)state;
  static const int64_t shape[] = {2, 1, 3, 2};
  gt_npy array;
  gt_error error = {0};
  assert_int_equal(gt_npy_read("/dev/zero", 4, shape, &array, &error), GT_USAGE);
  assert_string_equal(error.text, "/dev/zero: not a .npy file");
}

static void a_file_that_is_cut_off_anywhere_is_refused(void **state) {
  (void)state;
  const float data[12] = {0};
  gt_npy array;
  gt_buffer file = file_of(1, HEADER, data, sizeof data);
  for (size_t size = 0; size < file.length; size++) {
    gt_error error = {0};
    char *copy = malloc(size + 1); // so that a sanitizer sees a read past the end
    memcpy(copy, file.data, size);
    assert_int_equal(gt_npy_parse("x.npy", copy, size, 0, NULL, &array, &error), GT_USAGE);
    free(copy);
  }
  gt_buffer_free(&file);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  const float values[] = {1, -2, 3.5f, 0, 5, 6};
  const int64_t shape[] = {1, 3, 2};
  gt_buffer file = {0};
  gt_npy array;
  gt_npy_print(&file, GT_F32, 3, shape, values);
  assert_int_equal((file.length - sizeof values) % 64, 0);
  assert_int_equal(gt_npy_parse("x.npy", file.data, file.length, 0, NULL, &array, NULL), GT_OK);
  assert_int_equal(array.dimensions, 3);
  assert_memory_equal(array.shape, shape, sizeof shape);
  for (int i = 0; i < 6; i++) assert_true(array.values[i] == (double)values[i]);
  gt_npy_free(&array);
  gt_buffer_free(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_of_all_widths_and_versions_are_read),
      cmocka_unit_test(what_is_no_such_array_is_refused_by_name),
      cmocka_unit_test(another_shape_or_version_is_told_beside_the_one_that_is_wanted),
      cmocka_unit_test(a_file_that_has_no_end_is_read_as_far_as_its_array_goes),
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(a_file_that_is_cut_off_anywhere_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
