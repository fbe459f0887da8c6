// A gradient that is no number must reach just the inputs that the forward read for it: on every back end
// that is there, in every family.
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

static void check_family(const gt_open_device *open, gt_generator *generator, const gt_problem *problem,
                         const char *family) {
  gt_error error = {0};
  gt_family_role role;
  const char *description;
  assert_int_equal(gt_family_describe(generator, family, &role, &description, &error), GT_OK);
  if (role == GT_ROLE_BOUND ||
      gt_family_claims(generator, family, problem, &open->fingerprint, &error) != GT_OK)
    return;
  gt_variant variant;
  char *configuration;
  assert_int_equal(gt_family_default(generator, family, problem, &open->fingerprint, &configuration, &error),
                   GT_OK);
  assert_int_equal(gt_render(generator, configuration, problem, &open->fingerprint, &variant, &error), GT_OK);

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
  for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
    for (size_t i = 0; i < n_out; i++) gradient[i] = (float)(exact[i] = (double)((i * 37 % 64) / 32.0 - 1));
    gradient[places[p]] = NAN;
    exact[places[p]] = NAN;
    assert_int_equal(gt_reference(problem, outer, exact, expected, NULL, &error), GT_OK);
    assert_int_equal(backend->write(open->device, memory[0], gradient, bytes[0], &error), GT_OK);
    run(open, &variant, outer, memory, n_in, result);
    for (size_t i = 0; i < n_in; i++)
      if (isnan(result[i]) != isnan(expected[i]))
        fail_msg("%s: NaN at output %zu: input %zu is %g, expected %g", configuration, places[p], i,
                 result[i], expected[i]);
  }
  for (int i = 0; i < 3; i++) backend->release(open->device, memory[i]);
  free(gradient), free(result), free(exact), free(expected), free(configuration);
  gt_variant_free(&variant);
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
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    gt_problem problem;
    assert_int_equal(gt_problem_parse(problems[i], &problem, &error), GT_OK);
    for (size_t f = 0; f < n_families; f++) check_family(&open, generator, &problem, families[f]);
  }
  gt_generator_close(generator);
  gt_device_close(&open);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_nan_reaches_just_the_inputs_that_were_read_for_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
