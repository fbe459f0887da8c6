// Launch grids, workspaces, and variants as JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/variant.h"

static void assert_grid(int64_t num, int64_t den, int64_t outer, uint32_t x, uint32_t y, uint32_t z) {
  gt_launch_rule rule = {"k", {256, 1, 1}, num, den};
  uint32_t grid[3];
  gt_error error;
  if (gt_launch_grid(&rule, outer, grid, &error) != GT_OK) fail_msg("%s", error.text);
  assert_int_equal(grid[0], x);
  assert_int_equal(grid[1], y);
  assert_int_equal(grid[2], z);
}

static void blocks_are_the_outer_count_times_the_ratio_rounded_up(void **state) {
  (void)state;
  assert_grid(1, 1, 5, 5, 1, 1);
  assert_grid(3, 256, 85, 1, 1, 1);
  assert_grid(3, 256, 86, 2, 1, 1);
  assert_grid(INT64_MAX, INT64_MAX, 7, 7, 1, 1);
}

static void nothing_to_do_is_an_empty_grid(void **state) {
  (void)state;
  assert_grid(3, 4, 0, 0, 0, 0);
  assert_grid(0, 4, 9, 0, 0, 0);
}

static void long_grids_are_folded_into_rows_that_hold_every_block(void **state) {
  (void)state;
  assert_grid(1, 1, 1 << 21, 1 << 21, 1, 1);
  assert_grid(1, 1, (1 << 21) + 1, (1 << 20) + 1, 2, 1);
  assert_grid(1, 1, INT64_C(65535) << 21, 1 << 21, 65535, 1);
  for (int64_t blocks = 1; blocks < INT64_C(1) << 36; blocks = blocks * 3 + 1) {
    gt_launch_rule rule = {"k", {64, 1, 1}, 1, 1};
    uint32_t grid[3];
    assert_int_equal(gt_launch_grid(&rule, blocks, grid, NULL), GT_OK);
    assert_true((int64_t)grid[0] * grid[1] >= blocks);
    assert_true((int64_t)grid[0] * grid[1] - blocks < grid[1]);
    assert_true(grid[0] <= 1 << 21);
  }
}

static void more_blocks_than_a_device_can_number_are_refused(void **state) {
  (void)state;
  uint32_t grid[3];
  gt_error error;
  gt_launch_rule rule = {"k", {64, 1, 1}, INT64_MAX, 1};
  assert_int_equal(gt_launch_grid(&rule, INT64_MAX, grid, &error), GT_UNSUPPORTED);
  rule.blocks_num = 1;
  assert_int_equal(gt_launch_grid(&rule, (INT64_C(65535) << 21) + 1, grid, &error), GT_UNSUPPORTED);
  assert_string_equal(error.text, "kernel k: outer 137436856321 times 1/1 is more than 137436856320 blocks");
  assert_int_equal(grid[0], 0);
}

static void a_senseless_rule_is_refused(void **state) {
  (void)state;
  uint32_t grid[3];
  gt_launch_rule rule = {"k", {64, 1, 1}, 1, 0};
  assert_int_equal(gt_launch_grid(&rule, 1, grid, NULL), GT_USAGE);
  rule = (gt_launch_rule){"k", {64, 1, 1}, 1, 1};
  assert_int_equal(gt_launch_grid(&rule, -1, grid, NULL), GT_USAGE);
}

static void a_workspace_grows_with_the_outer_count_and_never_wraps(void **state) {
  (void)state;
  gt_variant variant = {.workspace_fixed = 100, .workspace_per_outer = 8};
  assert_int_equal(gt_variant_workspace(&variant, 0), 100);
  assert_int_equal(gt_variant_workspace(&variant, 5), 140);
  variant.workspace_per_outer = INT64_MAX / 2;
  assert_true(gt_variant_workspace(&variant, 3) == INT64_MAX);
}

static const char good[] = "{\"configuration\":\"taps:vx=2,block=64\",\"family\":\"taps\","
                           "\"launches\":[{\"kernel\":\"gt_taps\",\"block\":[64,2,1],\"blocks\":[9,4]},"
                           "{\"kernel\":\"gt_more\",\"block\":[1,1,1],\"blocks\":[0,1]}],"
                           "\"workspace\":[16,9007199254740993],\"reproducible\":true,\"source_hash\":"
                           "\"0123456789abcdef0123456789abcdef\"}";

static void a_variant_comes_back_from_json_as_it_went(void **state) {
  (void)state;
  gt_variant variant;
  gt_error error;
  json_t *json = json_loads(good, 0, NULL);
  if (gt_variant_from_json(json, &variant, &error) != GT_OK) fail_msg("%s", error.text);
  json_decref(json);
  assert_string_equal(variant.configuration, "taps:vx=2,block=64");
  assert_string_equal(variant.family, "taps");
  assert_null(variant.source);
  assert_int_equal(variant.n_launches, 2);
  assert_string_equal(variant.launches[0].kernel, "gt_taps");
  assert_int_equal(variant.launches[0].block[1], 2);
  assert_int_equal(variant.launches[0].blocks_num, 9);
  assert_int_equal(variant.launches[0].blocks_den, 4);
  assert_true(variant.workspace_per_outer == 9007199254740993);
  assert_true(variant.reproducible);
  json = gt_variant_to_json(&variant);
  char *text = json_dumps(json, JSON_COMPACT);
  assert_string_equal(text, good);
  free(text);
  json_decref(json);
  gt_variant_free(&variant);
  gt_variant_free(&variant);
}

static void json_that_no_variant_would_give_is_corrupt(void **state) {
  (void)state;
  // Each case replaces one part of the good text.
  static const struct {
    const char *old, *replacement;
  } cases[] = {
      {"\"family\":\"taps\"", "\"family\":\"tile\""},
      {"\"family\":\"taps\"", "\"family\":7"},
      {"\"family\":\"taps\"", "\"family\":\"taps\",\"extra\":1"},
      {"\"family\":\"taps\",", ""},
      {"taps:vx=2,block=64", "taps:vx=2,"},
      {"taps:vx=2,block=64", "taps:"},
      {"taps:vx=2,block=64", "taps:vx=2;drop"},
      {"taps:vx=2,block=64", "taps:vx=2\\u0000"},
      {"\"gt_taps\"", "\"gt taps\""},
      {"\"gt_taps\"", "\"\""},
      {"\"gt_taps\"", "\"9k\""},
      {"\"gt_taps\"", "\"gt_taps\\u0000x\""},
      {"\"gt_taps\"", "\"a234567890123456789012345678901234567890123456789012345678901234\""},
      {"\"kernel\":\"gt_taps\"", "\"kernel\":\"gt_taps\",\"more\":1"},
      {"[64,2,1]", "[64,2]"},
      {"[64,2,1]", "[64,2,1,1]"},
      {"[64,2,1]", "[64,0,1]"},
      {"[64,2,1]", "[64,2.0,1]"},
      {"[64,2,1]", "[4294967360,2,1]"},
      {"[64,2,1]", "[65536,65536,65536]"},
      {"[64,2,1]", "64"},
      {"[9,4]", "[9,0]"},
      {"[9,4]", "[-9,4]"},
      {"[9,4]", "[9]"},
      {"[16,9007199254740993]", "[16,-1]"},
      {"[16,9007199254740993]", "{}"},
      {"true", "1"},
      {"true", "null"},
      {"0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcde"},
      {"0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdeF"},
      {good + strlen("{\"configuration\":\"taps:vx=2,block=64\",\"family\":\"taps\","),
       "\"launches\":[],\"workspace\":[0,0],\"reproducible\":true,\"source_hash\":"
       "\"0123456789abcdef0123456789abcdef\"}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *at = strstr(good, cases[i].old);
    assert_non_null(at);
    char *text =
        gt_print("%.*s%s%s", (int)(at - good), good, cases[i].replacement, at + strlen(cases[i].old));
    json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL);
    gt_variant variant;
    gt_error error;
    if (!json) fail_msg("the test's own text is no JSON: %s", text);
    if (gt_variant_from_json(json, &variant, &error) != GT_CORRUPT) fail_msg("accepted: %s", text);
    assert_null(variant.configuration);
    json_decref(json);
    free(text);
  }
  gt_variant variant;
  json_t *array = json_array();
  assert_int_equal(gt_variant_from_json(array, &variant, NULL), GT_CORRUPT);
  assert_int_equal(gt_variant_from_json(NULL, &variant, NULL), GT_CORRUPT);
  json_decref(array);
}

static void more_launches_than_fit_are_corrupt(void **state) {
  (void)state;
  json_t *json = json_loads(good, 0, NULL), *launches = json_object_get(json, "launches");
  while (json_array_size(launches) < GT_MAX_LAUNCHES)
    json_array_append_new(launches, json_deep_copy(json_array_get(launches, 0)));
  gt_variant variant;
  assert_int_equal(gt_variant_from_json(json, &variant, NULL), GT_OK);
  gt_variant_free(&variant);
  json_array_append_new(launches, json_deep_copy(json_array_get(launches, 0)));
  assert_int_equal(gt_variant_from_json(json, &variant, NULL), GT_CORRUPT);
  json_decref(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_the_outer_count_times_the_ratio_rounded_up),
      cmocka_unit_test(nothing_to_do_is_an_empty_grid),
      cmocka_unit_test(long_grids_are_folded_into_rows_that_hold_every_block),
      cmocka_unit_test(more_blocks_than_a_device_can_number_are_refused),
      cmocka_unit_test(a_senseless_rule_is_refused),
      cmocka_unit_test(a_workspace_grows_with_the_outer_count_and_never_wraps),
      cmocka_unit_test(a_variant_comes_back_from_json_as_it_went),
      cmocka_unit_test(json_that_no_variant_would_give_is_corrupt),
      cmocka_unit_test(more_launches_than_fit_are_corrupt),
  };
  return cmocka_run_group_tests_name("variant", tests, NULL, NULL);
}
