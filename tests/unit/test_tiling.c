// Tilings of axes, against their definitions: on short axes by looking at everything, on long ones by how
// long it takes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "generator/tiling.h"

#define MOST_WORK ((int64_t)1 << 40)

static gt_axis width_of(const char *text) {
  gt_problem problem;
  gt_axis axis;
  gt_error error = {0};
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s", error.text);
  if (gt_axis_make(&problem, 2, &axis, &error) != GT_OK) fail_msg("%s", error.text);
  return axis;
}

static double weight_of(const gt_axis *axis, int64_t input, int64_t output) {
  int64_t k = output - axis->first[input];
  return k < 0 || k >= axis->count[input] ? 0 : axis->weight[axis->start[input] + k];
}

// Every output that a tile's inputs used is in its window, and entries say what they are to say of every
// tile.
static void check(const gt_axis *axis, const gt_tiling *t, bool zeros, bool outside) {
  assert_int_equal(t->tiles, (axis->n_in + t->size - 1) / t->size);
  size_t e = 0;
  for (int64_t tile = 0; tile < t->tiles; tile++) {
    int64_t start = gt_tiling_start(t, axis, tile);
    if (t->form != GT_TILING_AFFINE && !outside) assert_true(start >= 0 && start + t->width <= axis->n_out);
    for (int64_t j = 0, i = tile * t->size; j < t->size && i < axis->n_in; j++, i++)
      if (axis->count[i]) {
        assert_true(axis->first[i] >= start && axis->first[i] + axis->count[i] <= start + t->width);
        assert_true(axis->first[i] - start >= t->low[j] &&
                    axis->first[i] + axis->count[i] - start <= t->high[j]);
      }
  }
  bool literal = true;
  for (int64_t j = 0; j < t->size; j++)
    for (int64_t c = t->low[j]; c < t->high[j]; c++, e++) {
      const gt_tiling_entry *entry = &t->entries[e];
      int exceptions = 0;
      bool zero = false;
      assert_true(e < t->n_entries && entry->j == j && entry->c == c);
      for (int64_t tile = 0; tile < t->tiles; tile++) {
        int64_t input = tile * t->size + j, output = gt_tiling_start(t, axis, tile) + c;
        if (input >= axis->n_in || (zeros && (output < 0 || output >= axis->n_out))) continue;
        double w = weight_of(axis, input, output);
        zero = zero || w == 0;
        if (w == entry->value) continue;
        if (exceptions < entry->n_exceptions) {
          assert_int_equal(entry->exceptions[exceptions].tile, tile);
          assert_true(entry->exceptions[exceptions].value == w);
        }
        exceptions++;
      }
      assert_int_equal(entry->sometimes_zero, zero);
      assert_int_equal(entry->n_exceptions, exceptions < GT_TILING_EXCEPTIONS   ? exceptions
                                            : exceptions > GT_TILING_EXCEPTIONS ? GT_TILING_EXCEPTIONS + 1
                                                                                : exceptions);
      literal = literal && exceptions <= GT_TILING_EXCEPTIONS;
    }
  assert_int_equal(e, t->n_entries);
  assert_int_equal(t->literal, literal);
}

#define LINEAR "upsample_linear1d_backward:n=1,c=1,"

static void windows_hold_what_their_tiles_use_and_entries_are_right(void **state) {
  (void)state;
  static const char *const problems[] = {
      LINEAR "in=64,out=128,dtype=f32",
      LINEAR "in=64,out=128,dtype=f32,align_corners=1",
      LINEAR "in=37,out=61,dtype=f32",
      LINEAR "in=101,out=57,dtype=f16",
      LINEAR "in=1,out=9,dtype=f32",
      LINEAR "in=9,out=1,dtype=f32",
      LINEAR "in=1000,out=1700,dtype=f64,scale=1.7",
      "upsample_nearest1d_backward:n=1,c=1,in=53,out=91,dtype=f32",
      "upsample_nearest1d_backward:n=1,c=1,in=91,out=53,dtype=f32",
      "_upsample_bicubic2d_aa_backward:n=1,c=1,in=1x100,out=1x37,dtype=f32",
      "adaptive_avg_pool2d_backward:n=1,c=1,in=1x50,out=1x7,dtype=f32",
      "avg_pool2d_backward:n=1,c=1,in=1x203,out=1x101,dtype=f32,kernel=1x2",
      "avg_pool2d_backward:n=1,c=1,in=1x203,out=1x68,dtype=f32,kernel=1x2,pool_stride=1x3",
  };
  int forms[3] = {0};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    gt_axis axis = width_of(problems[i]);
    for (int64_t size = 1; size <= 8; size += size < 4 ? 1 : 4)
      for (int flags = 0; flags < 4; flags++) {
        gt_tiling tiling;
        assert_int_equal(gt_tiling_make(&axis, size, flags & 1, flags & 2, 1, MOST_WORK, &tiling, NULL),
                         GT_OK);
        check(&axis, &tiling, flags & 1, flags & 2);
        forms[tiling.form]++;
        gt_tiling_free(&tiling);
      }
    gt_axis_free(&axis);
  }
  for (int i = 0; i < 3; i++) assert_true(forms[i] > 0);
}

// The outputs that the inputs of the tile with the longest window used.
static int64_t longest_window(const gt_axis *axis, int64_t size) {
  int64_t longest = 1;
  for (int64_t tile = 0; tile * size < axis->n_in; tile++) {
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (int64_t i = tile * size; i < (tile + 1) * size && i < axis->n_in; i++) {
      if (!axis->count[i]) continue;
      if (axis->first[i] < from) from = axis->first[i];
      if (axis->first[i] + axis->count[i] > to) to = axis->first[i] + axis->count[i];
    }
    if (from < to && to - from > longest) longest = to - from;
  }
  return longest;
}

static void windows_start_at_multiples_where_they_are_to(void **state) {
  (void)state;
  static const char *const problems[] = {
      LINEAR "in=64,out=128,dtype=f32",
      LINEAR "in=63,out=126,dtype=f32,align_corners=1",
      LINEAR "in=37,out=61,dtype=f32",
      LINEAR "in=101,out=57,dtype=f16",
      LINEAR "in=1,out=90,dtype=f32",
      LINEAR "in=90,out=1,dtype=f32",
      LINEAR "in=1000,out=1700,dtype=f64,scale=1.7",
      "upsample_bicubic2d_backward:n=1,c=1,in=1x64,out=1x139,dtype=f32",
      "upsample_nearest1d_backward:n=1,c=1,in=91,out=53,dtype=f32", // inputs that nothing was read from
      "_upsample_bicubic2d_aa_backward:n=1,c=1,in=1x100,out=1x37,dtype=f32",
      "adaptive_avg_pool2d_backward:n=1,c=1,in=1x50,out=1x7,dtype=f32",
      "avg_pool2d_backward:n=1,c=1,in=1x203,out=1x68,dtype=f32,kernel=1x2,pool_stride=1x3",
      // All of them from the first few inputs.
      "upsample_nearest1d_backward:n=1,c=1,in=12,out=53,dtype=f32,scale=53",
  };
  int forms[3] = {0};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    gt_axis axis = width_of(problems[i]);
    for (int64_t size = 1; size <= 4; size *= 2)
      for (int64_t multiple = 2; multiple <= 8; multiple *= 2)
        for (int zeros = 0; zeros < 2; zeros++) {
          gt_tiling tiling;
          assert_int_equal(gt_tiling_make(&axis, size, zeros, true, multiple, MOST_WORK, &tiling, NULL),
                           GT_OK);
          check(&axis, &tiling, zeros, true);
          for (int64_t tile = 0; tile < tiling.tiles; tile++)
            assert_int_equal(gt_tiling_start(&tiling, &axis, tile) % multiple, 0);
          // To start at a multiple takes up to `multiple` - 1 columns, and a line some more.
          assert_in_range(tiling.width, 1, longest_window(&axis, size) + 3 * multiple - 1);
          forms[tiling.form]++;
          gt_tiling_free(&tiling);
        }
    gt_axis_free(&axis);
  }
  for (int i = 0; i < 3; i++) assert_true(forms[i] > 0);
}

static void integer_scales_are_literal_whatever_the_length(void **state) {
  (void)state;
  gt_axis axis = width_of(LINEAR "in=1000000,out=2000000,dtype=f32");
  gt_tiling tiling;
  assert_int_equal(gt_tiling_make(&axis, 4, true, false, 1, MOST_WORK, &tiling, NULL), GT_OK);
  assert_int_equal(tiling.form, GT_TILING_AFFINE);
  assert_int_equal(tiling.step, 8);
  assert_int_equal(tiling.width, 10);
  assert_true(tiling.literal);
  gt_tiling_free(&tiling);
  gt_axis_free(&axis);
}

// Entries that differ everywhere are known for that after a few tiles.
static void odd_scales_take_about_a_look_at_each_input(void **state) {
  (void)state;
  gt_axis axis = width_of(LINEAR "in=1000003,out=1700005,dtype=f32");
  gt_tiling tiling;
  assert_int_equal(gt_tiling_make(&axis, 1, true, false, 1, MOST_WORK, &tiling, NULL), GT_OK);
  assert_false(tiling.literal);
  assert_true(tiling.work < 12 * axis.n_in);
  gt_tiling_free(&tiling);
  gt_axis_free(&axis);
}

static void too_much_work_and_too_many_entries_are_refused(void **state) {
  (void)state;
  gt_error error = {0};
  gt_axis axis = width_of(LINEAR "in=100000,out=200000,dtype=f32");
  gt_tiling tiling;
  assert_int_equal(gt_tiling_make(&axis, 1, true, false, 1, 1000, &tiling, &error), GT_UNSUPPORTED);
  assert_non_null(strstr(error.text, "100000 tiles of 1 inputs"));
  gt_tiling_free(&tiling);
  gt_axis_free(&axis);
  axis = width_of(LINEAR "in=1,out=2000000,dtype=f32");
  assert_int_equal(gt_tiling_make(&axis, 1, true, false, 1, MOST_WORK, &tiling, &error), GT_UNSUPPORTED);
  assert_non_null(strstr(error.text, "2000000 outputs"));
  gt_tiling_free(&tiling);
  gt_axis_free(&axis);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_hold_what_their_tiles_use_and_entries_are_right),
      cmocka_unit_test(windows_start_at_multiples_where_they_are_to),
      cmocka_unit_test(integer_scales_are_literal_whatever_the_length),
      cmocka_unit_test(odd_scales_take_about_a_look_at_each_input),
      cmocka_unit_test(too_much_work_and_too_many_entries_are_refused),
  };
  return cmocka_run_group_tests_name("tiling", tests, NULL, NULL);
}
