// The order of blocks by chiplet (XCD), run on a HIP device: the emulated MI300X, or a real one.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "generator/generator.h"

enum { CHIPLETS = 8 };

// The number that each of `blocks` blocks got, by block. NULL, and the test is skipped, where there is no
// such device.
static float *numbers_of(int blocks) {
  gt_error error = {0};
  gt_open_device open = {0};
  if (gt_device_open("hip:0", &open, &error) != GT_OK || !strstr(open.fingerprint.arch, "gfx94")) {
    print_message("needs an MI300X, real or emulated: %s\n", error.text);
    gt_device_close(&open);
    return NULL;
  }
  gt_generator *generator;
  gt_problem problem;
  gt_variant variant;
  char text[GT_PROBLEM_TEXT];
  snprintf(text, sizeof text, "upsample_bilinear2d_backward:n=1,c=1,in=1x%d,out=1x%d,dtype=f32", blocks,
           blocks);
  assert_int_equal(gt_problem_parse(text, &problem, &error), GT_OK);
  if (gt_generator_open("tests/unit/order_templates", &generator, &error) != GT_OK)
    fail_msg("%s", error.text);
  if (gt_render(generator, "order:order=xcd,stores=plain,waves=auto", &problem, &open.fingerprint, &variant,
                &error) != GT_OK)
    fail_msg("%s", error.text);

  const gt_backend *backend = open.backend;
  gt_buffer code = {0}, log = {0};
  gt_module *module;
  gt_kernel *kernel;
  gt_address memory;
  uint32_t grid[3];
  float *numbers = gt_alloc((size_t)blocks * sizeof *numbers);
  assert_int_equal(backend->compile(open.device, open.fingerprint.arch, variant.source, &code, &log, &error),
                   GT_OK);
  assert_int_equal(backend->load(open.device, code.data, code.length, &module, &error), GT_OK);
  assert_int_equal(backend->kernel(open.device, module, variant.launches[0].kernel, &kernel, &error), GT_OK);
  assert_int_equal(backend->allocate(open.device, (size_t)blocks * 4, &memory, &error), GT_OK);
  assert_int_equal(gt_launch_grid(&variant.launches[0], 1, grid, &error), GT_OK);
  assert_int_equal((int)grid[0], blocks);
  gt_arguments arguments = {
      .pointers = {memory, memory, 0}, .n_pointers = 3, .integers = {1}, .n_integers = 1};
  assert_int_equal(backend->launch(open.device, kernel, grid, variant.launches[0].block, &arguments, &error),
                   GT_OK);
  assert_int_equal(backend->synchronize(open.device, &error), GT_OK);
  assert_int_equal(backend->read(open.device, numbers, memory, (size_t)blocks * 4, &error), GT_OK);
  backend->release(open.device, memory);
  backend->unload(open.device, module);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_variant_free(&variant);
  gt_generator_close(generator);
  gt_device_close(&open);
  return numbers;
}

static const int block_counts[] = {1, 7, 8, 9, 64, 1003, 2048};

static void the_order_by_chiplet_is_a_permutation(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof block_counts / sizeof *block_counts; i++) {
    int blocks = block_counts[i];
    float *numbers = numbers_of(blocks);
    if (!numbers) skip();
    char *seen = gt_alloc((size_t)blocks);
    for (int b = 0; b < blocks; b++) {
      int number = (int)numbers[b];
      assert_true(number >= 0 && number < blocks && !seen[number]);
      seen[number] = 1;
    }
    free(seen);
    free(numbers);
  }
}

static void neighbours_in_the_order_by_chiplet_share_one(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof block_counts / sizeof *block_counts; i++) {
    int blocks = block_counts[i];
    float *numbers = numbers_of(blocks);
    if (!numbers) skip();
    // Block b runs on chiplet b mod 8. Going through the numbers, the chiplet changes 7 times, and no more.
    int *block_of = gt_alloc((size_t)blocks * sizeof *block_of), changes = 0;
    for (int b = 0; b < blocks; b++) block_of[(int)numbers[b]] = b;
    for (int n = 1; n < blocks; n++) changes += block_of[n] % CHIPLETS != block_of[n - 1] % CHIPLETS;
    assert_int_equal(changes, blocks < CHIPLETS ? blocks - 1 : CHIPLETS - 1);
    free(block_of);
    free(numbers);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_order_by_chiplet_is_a_permutation),
      cmocka_unit_test(neighbours_in_the_order_by_chiplet_share_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
