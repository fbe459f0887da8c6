// A gradient that is no number, or infinite, must reach just the inputs that the forward read for it: on
// every back end that is there, in every family.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "generator/generator.h"
#include "tuner/reference.h"

static const char *const problems[] = {
    "upsample_bilinear2d_backward:n=2,c=2,in=7x8,out=14x16,dtype=f32",
    "upsample_bilinear2d_backward:n=1,c=2,in=7x8,out=14x16,dtype=f32,align_corners=1",
    "upsample_bilinear2d_backward:n=1,c=4,in=13x9,out=5x31,dtype=f32,layout=nhwc",
    "upsample_bicubic2d_backward:n=1,c=2,in=7x8,out=14x16,dtype=f32",
    "_upsample_bicubic2d_aa_backward:n=1,c=2,in=17x20,out=34x9,dtype=f32",
    "upsample_trilinear3d_backward:n=1,c=2,in=3x4x5,out=7x9x12,dtype=f32",
    "upsample_bicubic2d_backward:n=1,c=3,in=11x13,out=14x29,dtype=f32",
};

// Beside each family's default, on OpenCL, where a block need not be of whole waves: tiles of several inputs,
// of which the last is not full, strips and parts of the width and the height, a second kernel.
static const struct {
  const char *problem, *configuration;
} chosen[] = {
    {"upsample_bicubic2d_backward:n=1,c=3,in=11x13,out=14x28,dtype=f32",
     "march:v=2,strip=4,rows=2,slices=3,across=1,vx=4,acc=float"},
    {"upsample_bicubic2d_backward:n=1,c=3,in=11x13,out=14x28,dtype=f32",
     "march:v=4,strip=whole,rows=4,slices=3,across=2,vx=1,acc=float"},
    {"upsample_bilinear2d_backward:n=1,c=4,in=9x13,out=18x26,dtype=f32,align_corners=1",
     "march:v=2,strip=4,rows=4,slices=4,across=1,vx=4,acc=float"},
    {"upsample_trilinear3d_backward:n=1,c=2,in=3x5x7,out=16x24x32,dtype=f32",
     "march:depth=after,v=4,strip=2,rows=2,slices=4,across=1,down=1,plane=once,vx=4,acc=float"},
    {"upsample_trilinear3d_backward:n=1,c=2,in=3x5x4,out=16x31x22,dtype=f32",
     "march:depth=march,v=2,strip=2,rows=1,slices=1,across=1,down=1,plane=turns,vx=2,acc=float"},
    {"upsample_trilinear3d_backward:n=1,c=2,in=3x5x4,out=16x31x24,dtype=f32",
     "march:depth=march,v=4,strip=2,rows=2,slices=1,across=1,down=2,plane=turns,vx=4,acc=float"},
    {"upsample_trilinear3d_backward:n=1,c=3,in=3x7x4,out=10x43x24,dtype=f32",
     "march:depth=march,v=4,strip=2,rows=1,slices=2,across=2,down=4,plane=turns,vx=1,acc=float"},
    {"upsample_trilinear3d_backward:n=1,c=3,in=7x5x4,out=23x31x24,dtype=f32",
     "march:depth=march,v=4,strip=4,rows=2,slices=3,across=1,down=2,plane=turns,vx=2,acc=float"},
    {"upsample_trilinear3d_backward:n=1,c=2,in=5x6x7,out=12x13x16,dtype=f32",
     "march:depth=march,v=2,strip=2,rows=2,slices=1,across=1,down=2,vx=4,acc=float"},
    {"upsample_bicubic2d_backward:n=1,c=3,in=11x13,out=14x29,dtype=f32",
     "tile:strip=4,slices=1,vx=2,vy=2,acc=float"},
    {"upsample_bilinear2d_backward:n=2,c=2,in=9x13,out=18x26,dtype=f32,align_corners=1",
     "tile:strip=whole,slices=3,vx=4,vy=4,acc=float"},
    {"upsample_bicubic2d_backward:n=1,c=3,in=11x13,out=14x29,dtype=f32",
     "ring:copy=bulk,stages=3,parts=2,rows=2,vx=4,load=1,acc=float"},
    {"upsample_bilinear2d_backward:n=2,c=2,in=9x13,out=18x26,dtype=f32,align_corners=1",
     "ring:copy=async,stages=4,parts=3,rows=1,vx=2,load=2,acc=float"},
    {"upsample_bilinear2d_backward:n=2,c=2,in=9x13,out=18x26,dtype=f32,scale=2x2",
     "ring:copy=vectors,stages=2,parts=2,rows=4,vx=2,load=2,acc=float"},
    {"upsample_bilinear2d_backward:n=1,c=3,in=31x13,out=14x19,dtype=f32",
     "ring:copy=vectors,stages=2,parts=3,rows=2,vx=2,load=1,acc=float"},
};

// The outcome of one configuration: f32 values of grad_input.
static void run(const gt_open_device *open, const gt_variant *variant, int64_t outer,
                const gt_address memory[3], size_t n_in, float *result) {
  const gt_backend *backend = open->backend;
  gt_error error = {0};
  gt_buffer code = {0}, log = {0};
  gt_module *module;
  if (backend->compile(open->device, open->fingerprint.arch, variant->source, &code, &log, &error) != GT_OK)
    fail_msg("%s: %s", variant->configuration, error.text);
  assert_int_equal(backend->load(open->device, code.data, code.length, &module, &error), GT_OK);
  gt_arguments arguments = {
      .pointers = {memory[0], memory[1], memory[2]}, .n_pointers = 3, .integers = {outer}, .n_integers = 1};
  for (int i = 0; i < variant->n_launches; i++) {
    const gt_launch_rule *rule = &variant->launches[i];
    gt_kernel *kernel;
    uint32_t grid[3];
    assert_int_equal(gt_launch_grid(rule, outer, grid, &error), GT_OK);
    assert_int_equal(backend->kernel(open->device, module, rule->kernel, &kernel, &error), GT_OK);
    assert_int_equal(backend->launch(open->device, kernel, grid, rule->block, &arguments, &error), GT_OK);
  }
  assert_int_equal(backend->synchronize(open->device, &error), GT_OK);
  assert_int_equal(backend->read(open->device, result, memory[1], n_in * sizeof *result, &error), GT_OK);
  backend->unload(open->device, module);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
}

static void check_configuration(const gt_open_device *open, gt_generator *generator,
                                const gt_problem *problem, const char *configuration) {
  gt_error error = {0};
  gt_variant variant;
  if (gt_render(generator, configuration, problem, &open->fingerprint, &variant, &error) != GT_OK)
    fail_msg("%s", error.text);

  const gt_backend *backend = open->backend;
  int64_t outer = gt_problem_outer(problem);
  size_t n_in = (size_t)gt_problem_in_elements(problem), n_out = (size_t)gt_problem_out_elements(problem);
  size_t bytes[3] = {n_out * 4, n_in * 4, (size_t)gt_variant_workspace(&variant, outer) + 4};
  gt_address memory[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(backend->allocate(open->device, bytes[i], &memory[i], &error), GT_OK);
  float *gradient = gt_alloc(n_out * sizeof *gradient), *result = gt_alloc(n_in * sizeof *result);
  double *exact = gt_alloc(n_out * sizeof *exact), *expected = gt_alloc(n_in * sizeof *expected);
  const size_t places[] = {0, 17, n_out / 2 + 3, n_out - 1};
  for (size_t p = 0; p < 2 * sizeof places / sizeof *places; p++) {
    size_t place = places[p / 2];
    for (size_t i = 0; i < n_out; i++) gradient[i] = (float)(exact[i] = (double)((i * 37 % 64) / 32.0 - 1));
    exact[place] = gradient[place] = p % 2 ? INFINITY : NAN;
    assert_int_equal(gt_reference(problem, outer, exact, expected, NULL, &error), GT_OK);
    assert_int_equal(backend->write(open->device, memory[0], gradient, bytes[0], &error), GT_OK);
    run(open, &variant, outer, memory, n_in, result);
    for (size_t i = 0; i < n_in; i++)
      if (isfinite(expected[i]) ? !(fabs(result[i] - expected[i]) < 1e-4)
                                : isnan(result[i]) != isnan(expected[i]) || isfinite(result[i]))
        fail_msg("%s: %g at output %zu: input %zu is %g, expected %g", configuration, gradient[place], place,
                 i, result[i], expected[i]);
  }
  for (int i = 0; i < 3; i++) backend->release(open->device, memory[i]);
  free(gradient), free(result), free(exact), free(expected);
  gt_variant_free(&variant);
}

static void check_family(const gt_open_device *open, gt_generator *generator, const gt_problem *problem,
                         const char *family) {
  gt_error error = {0};
  gt_family_role role;
  const char *description;
  assert_int_equal(gt_family_describe(generator, family, &role, &description, &error), GT_OK);
  if (role == GT_ROLE_BOUND ||
      gt_family_claims(generator, family, problem, &open->fingerprint, &error) != GT_OK)
    return;
  char *configuration;
  assert_int_equal(gt_family_default(generator, family, problem, &open->fingerprint, &configuration, &error),
                   GT_OK);
  check_configuration(open, generator, problem, configuration);
  free(configuration);
}

// The back end to test: $GT_CONTRACT_BACKENDS, or OpenCL. One only, since two of their compilers cannot share
// a process.
static void a_nan_reaches_just_the_inputs_that_were_read_for_it(void **state) {
  (void)state;
  const char *wanted = getenv("GT_CONTRACT_BACKENDS");
  char name[32];
  snprintf(name, sizeof name, "%s:0", wanted ? wanted : "opencl");
  gt_error error = {0};
  gt_open_device open = {0};
  gt_generator *generator;
  if (gt_device_open(name, &open, &error) != GT_OK) {
    if (wanted) fail_msg("%s", error.text);
    print_message("%s\n", error.text);
    skip();
  }
  if (gt_generator_open(NULL, &generator, &error) != GT_OK) fail_msg("%s", error.text);
  size_t n_families;
  const char *const *families = gt_generator_families(generator, &n_families);
  const char *every = getenv("GT_TEST_EVERY"); // so many problems, the first only: where compilers are slow
  size_t step = every ? (size_t)strtoul(every, NULL, 10) : 1;
  assert_true(step > 0);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i += step) {
    gt_problem problem;
    assert_int_equal(gt_problem_parse(problems[i], &problem, &error), GT_OK);
    for (size_t f = 0; f < n_families; f++) check_family(&open, generator, &problem, families[f]);
  }
  for (size_t i = 0; !strcmp(name, "opencl:0") && i < sizeof chosen / sizeof *chosen; i += step) {
    gt_problem problem;
    assert_int_equal(gt_problem_parse(chosen[i].problem, &problem, &error), GT_OK);
    check_configuration(&open, generator, &problem, chosen[i].configuration);
  }
  gt_generator_close(generator);
  gt_device_close(&open);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_nan_reaches_just_the_inputs_that_were_read_for_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
