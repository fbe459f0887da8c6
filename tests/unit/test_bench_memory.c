// What a bench does with little memory. The memory is a recorded device's; this back end claims to execute,
// so that buffers are made.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "device/recorded.h"
#include "tuner/bench.h"

#define MIB ((int64_t)1 << 20)

static gt_backend backend;
static int failing; // allocations that still fail, whatever there is

static gt_status allocate(gt_device *device, size_t bytes, gt_address *address, gt_error *error) {
  if (failing > 0 && failing--) return gt_fail(error, GT_OUT_OF_MEMORY, "in pieces");
  return gt_backend_recorded.allocate(device, bytes, address, error);
}

static gt_open_device open_device(int64_t memory_bytes) {
  char path[] = "/tmp/gathertune-memory-XXXXXX", script[128];
  gt_open_device open = {.backend = &backend};
  gt_error error = {0};
  int file = mkstemp(path);
  assert_true(file >= 0);
  int length =
      snprintf(script, sizeof script, "{\"fingerprint\": {\"memory_bytes\": %lld}}", (long long)memory_bytes);
  assert_int_equal(write(file, script, (size_t)length), length);
  close(file);
  backend = gt_backend_recorded;
  backend.executes = true;
  backend.allocate = allocate;
  failing = 0;
  gt_status status = gt_recorded_open(path, &open.device, &error);
  unlink(path);
  if (status != GT_OK) fail_msg("%s", error.text);
  assert_int_equal(backend.fingerprint(open.device, &open.fingerprint, NULL), GT_OK);
  return open;
}

// 1.25 MiB for each of 64 outer indices, 80 MiB together.
static gt_problem a_problem(void) {
  gt_problem problem;
  assert_int_equal(gt_problem_parse("upsample_bilinear2d_backward:n=8,c=8,in=256x256,out=512x512,dtype=f32",
                                    &problem, NULL),
                   GT_OK);
  return problem;
}

static gt_status open_bench(gt_open_device *open, gt_bench *bench, gt_error *error) {
  gt_problem problem = a_problem();
  return gt_bench_open(open, &problem, NULL, NULL, bench, error);
}

static void with_much_memory_slots_rotate(void **state) {
  (void)state;
  gt_open_device open = open_device(1024 * MIB);
  gt_bench bench;
  assert_int_equal(open_bench(&open, &bench, NULL), GT_OK);
  assert_int_equal(bench.outer, 64);
  assert_true(bench.slots > 1);
  gt_bench_close(&bench);
  gt_device_close(&open);
}

static void positions_are_made_of_those_images_alone_that_fit(void **state) {
  (void)state;
  gt_open_device open = open_device(40 * MIB);
  gt_bench bench;
  gt_problem problem;
  gt_error error = {0};
  // 80 KiB an image; of all, the positions alone would take 60 TiB.
  assert_int_equal(gt_problem_parse("grid_sampler_2d_backward:n=2000000000,c=1,in=32x32,out=64x64,dtype=f32,grid=smooth",
                                    &problem, &error), GT_OK);
  if (gt_bench_open(&open, &problem, NULL, NULL, &bench, &error) != GT_OK) fail_msg("%s", error.text);
  assert_true(bench.outer >= 128 && bench.outer <= 512);
  const float *grid = bench.grid, *last = grid + (bench.outer * 64 * 64 - 1) * 2;
  assert_true(grid[0] > -1.5f && grid[0] < -0.5f && last[0] > 0.5f && last[0] < 1.5f);
  gt_bench_close(&bench);
  gt_device_close(&open);
}

static void little_memory_shrinks_the_outer_count_and_leaves_room_for_a_workspace_as_large(void **state) {
  (void)state;
  gt_open_device open = open_device(40 * MIB);
  gt_bench bench;
  assert_int_equal(open_bench(&open, &bench, NULL), GT_OK);
  assert_int_equal(bench.slots, 1);
  assert_true(bench.outer >= 8 && bench.outer <= 16);
  uint64_t left;
  assert_int_equal(backend.free_memory(open.device, &left, NULL), GT_OK);
  assert_true(left >= (uint64_t)(bench.outer * 5 * MIB / 4));
  gt_bench_close(&bench);
  assert_int_equal(backend.free_memory(open.device, &left, NULL), GT_OK);
  assert_int_equal(left, 40 * MIB); // all of it is given back
  gt_device_close(&open);
}

static void memory_that_is_free_and_yet_not_to_be_had_shrinks_slots_then_the_outer_count(void **state) {
  (void)state;
  gt_open_device open = open_device(1024 * MIB);
  gt_bench bench;
  failing = 6;
  assert_int_equal(open_bench(&open, &bench, NULL), GT_OK);
  assert_int_equal(bench.slots, 1);
  assert_true(bench.outer >= 1 && bench.outer < 64);
  gt_bench_close(&bench);
  gt_device_close(&open);
}

static void too_little_for_a_single_outer_index_is_an_error_with_sizes(void **state) {
  (void)state;
  gt_open_device open = open_device(1 * MIB);
  gt_bench bench = {0};
  gt_error error = {0};
  assert_int_equal(open_bench(&open, &bench, &error), GT_OUT_OF_MEMORY);
  assert_non_null(strstr(error.text, "need 1 MiB for a single outer index, the device has 1 MiB free"));
  uint64_t left;
  gt_bench_close(&bench);
  assert_int_equal(backend.free_memory(open.device, &left, NULL), GT_OK);
  assert_int_equal(left, 1 * MIB);
  gt_device_close(&open);
}

static void a_workspace_that_does_not_fit_is_out_of_memory_and_costs_that_variant_only(void **state) {
  (void)state;
  gt_open_device open = open_device(1024 * MIB);
  gt_bench bench;
  gt_loaded loaded;
  gt_error error = {0};
  static const char source[] = "// configuration: test:\nkernel k";
  gt_variant variant = {
      .n_launches = 1, .launches = {{"k", {64, 1, 1}, 1, 1}}, .workspace_per_outer = 64 * MIB}; // 4 GiB
  assert_int_equal(open_bench(&open, &bench, NULL), GT_OK);
  assert_int_equal(gt_loaded_open(&bench, &variant, source, sizeof source - 1, &loaded, &error),
                   GT_OUT_OF_MEMORY);
  assert_non_null(strstr(error.text, "memory"));
  variant.workspace_per_outer = MIB / 4;
  if (gt_loaded_open(&bench, &variant, source, sizeof source - 1, &loaded, &error) != GT_OK)
    fail_msg("%s", error.text);
  gt_loaded_close(&loaded);
  gt_bench_close(&bench);
  gt_device_close(&open);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(with_much_memory_slots_rotate),
      cmocka_unit_test(positions_are_made_of_those_images_alone_that_fit),
      cmocka_unit_test(little_memory_shrinks_the_outer_count_and_leaves_room_for_a_workspace_as_large),
      cmocka_unit_test(memory_that_is_free_and_yet_not_to_be_had_shrinks_slots_then_the_outer_count),
      cmocka_unit_test(too_little_for_a_single_outer_index_is_an_error_with_sizes),
      cmocka_unit_test(a_workspace_that_does_not_fit_is_out_of_memory_and_costs_that_variant_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
