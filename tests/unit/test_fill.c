// Writing grad_output with its gaps, to a device that is an array.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/strides.h"
#include "tuner/fill.h"
#include "tuner/guard.h"
#include "tuner/storage.h"

enum { UNTOUCHED = 0xab };

static struct {
  unsigned char *memory;
  size_t size;
  int writes;
} fake;

static gt_status write_memory(gt_device *device, gt_address to, const void *from, size_t bytes,
                              gt_error *error) {
  (void)device, (void)error;
  assert_true(to + bytes <= fake.size);
  memcpy(fake.memory + to, from, bytes);
  fake.writes++;
  return GT_OK;
}

static const gt_backend backend = {.write = write_memory};

// Fills as many outer indices as the problem has; the place of element (outer, z, y, x, i) is asked of
// strides.h for slices and computed here within them.
static void check(const char *text, bool given) {
  gt_problem problem;
  gt_error error = {0};
  gt_open_device open = {.backend = &backend};
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s: %s", text, error.text);
  int64_t outer = gt_problem_outer(&problem), inner = gt_problem_inner(&problem);
  size_t bytes = gt_dtype_bytes(problem.dtype), count = (size_t)gt_problem_out_elements(&problem);
  size_t extent = (size_t)gt_strides_extent(&problem, outer);
  fake.size = extent * bytes;
  fake.memory = gt_alloc(fake.size);
  fake.writes = 0;
  memset(fake.memory, UNTOUCHED, fake.size);
  char *values = gt_alloc(count * bytes), *counted = gt_alloc(extent);
  gt_inputs inputs;
  gt_inputs_open(&inputs, problem.dtype);
  gt_inputs_fill(&inputs, given ? 12345 : 0, count, values);
  gt_tensor tensors[GT_TENSORS];
  gt_problem_tensors(&problem, tensors);
  assert_int_equal(gt_fill_tensor(&open, &problem, &tensors[0], outer, 0, given ? values : NULL, &error), GT_OK);

  int64_t stride[GT_DIMENSIONS];
  size_t index = 0;
  gt_strides_of(&problem, stride);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t z = 0; z < problem.out[0]; z++)
      for (int64_t y = 0; y < problem.out[1]; y++)
        for (int64_t x = 0; x < problem.out[2]; x++)
          for (int64_t i = 0; i < inner; i++, index++) {
            size_t at =
                (size_t)(gt_strides_slice(&problem, o) + z * stride[2] + y * stride[3] + x * stride[4] + i);
            if (memcmp(fake.memory + at * bytes, values + index * bytes, bytes) != 0)
              fail_msg("%s: element %zu is wrong", text, index);
            assert_false(counted[at]++);
          }
  // A gap holds canaries or what was there: both are what the guarded buffer was filled with.
  const uint32_t canary = GT_CANARY;
  for (size_t i = 0; i < fake.size; i++)
    if (!counted[i / bytes] && fake.memory[i] != UNTOUCHED &&
        fake.memory[i] != ((const uint8_t *)&canary)[i % 4])
      fail_msg("%s: byte %zu of a gap was written", text, i);
  gt_inputs_close(&inputs);
  free(values);
  free(counted);
  free(fake.memory);
}

#define PROBLEM(keys) "upsample_nearest2d_backward:n=2,c=3,in=5x7,out=9x13,dtype=" keys

static void values_lie_where_the_strides_say(void **state) {
  (void)state;
  for (int given = 0; given < 2; given++) {
    check(PROBLEM("f32"), given);
    check(PROBLEM("f16,layout=nhwc"), given);
    check(PROBLEM("f16,stride=900x120x13x1"), given);
    check(PROBLEM("f32,stride=900x150x16x1"), given);
    check(PROBLEM("bf16,layout=nhwc,stride=1000x1x65x5"), given);
    check(PROBLEM("f64,layout=nhwc,stride=1000x1x39x3"), given);
    check(
        "upsample_nearest3d_backward:n=2,c=3,in=2x3x4,out=4x6x8,dtype=f64,layout=nhwc,stride=999x1x240x40x4",
        given);
  }
}

static void small_pieces_are_written_together(void **state) {
  (void)state;
  check(PROBLEM("f32,stride=900x150x16x1"), false);
  assert_int_equal(fake.writes, 1);
}

static void more_than_one_chunk_is_written_whole(void **state) {
  (void)state;
  // 16 MiB are 4194304 floats: rows that end at, cross, and are longer than a chunk, and a gap longer than
  // one.
  check("upsample_nearest1d_backward:n=2,c=3,in=5,out=2097152,dtype=f32", false);
  check("upsample_nearest1d_backward:n=2,c=3,in=5,out=1500000,dtype=f32,stride=6000001x1600001x1", false);
  check("upsample_nearest1d_backward:n=2,c=1,in=5,out=5000000,dtype=f32,stride=11000000x1x1", true);
  check("upsample_nearest1d_backward:n=2,c=2,in=5,out=4194304,dtype=f32,stride=16777216x4194304x1", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_lie_where_the_strides_say),
      cmocka_unit_test(small_pieces_are_written_together),
      cmocka_unit_test(more_than_one_chunk_is_written_whole),
  };
  return cmocka_run_group_tests_name("writing grad_output", tests, NULL, NULL);
}
