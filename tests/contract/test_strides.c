// A grad_output with gaps gives the same gradient as a dense one: on every back end that is there, in every
// family. Gaps hold NaNs. Vector loads are checked to be aligned, which not every device would complain of.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/generator.h"
#include "generator/strides.h"
#include "tuner/trial.h"

#define BILINEAR "upsample_bilinear2d_backward:n=2,"
#define TWICE "in=7x8,out=14x16,scale=2,"

static const char *const problems[] = {
    // Rows: aligned, and not; slices evenly spaced.
    BILINEAR "c=3,dtype=f32," TWICE "stride=840x280x20x1",
    BILINEAR "c=3,dtype=f16," TWICE "stride=714x238x17x1",
    BILINEAR "c=3,dtype=bf16,in=5x7,out=9x13,align_corners=1,stride=600x200x16x1",
    // Channels, and batches: the slices of a concatenation's gradient. The last two break alignment by these
    // alone.
    "upsample_nearest2d_backward:n=3,c=2,in=13x13,out=26x26,dtype=f16,scale=2,stride=3380x676x26x1",
    BILINEAR "c=3,dtype=f16," TWICE "stride=800x233x16x1",
    BILINEAR "c=3,dtype=f32," TWICE "stride=777x224x16x1",
    // One channel per batch, and another distance of rows, too.
    BILINEAR "c=1,dtype=f64,in=5x7,out=9x13,stride=500x1x14x1",
    BILINEAR "c=2,dtype=f32,in=2x3,out=16x24,stride=1313x401x25x1",
    // One axis and three.
    "upsample_linear1d_backward:n=2,c=3,in=33,out=66,dtype=f16,stride=400x104x1",
    "upsample_trilinear3d_backward:n=2,c=2,in=3x4x5,out=6x8x10,dtype=f32,stride=1504x708x113x12x1",
    "upsample_trilinear3d_backward:n=2,c=2,in=3x3x4,out=12x12x13,dtype=f32,stride=5000x2500x200x14x1",
    // Channels-last: pixels, rows, planes and batches; the alignment of vectors kept, lessened and gone.
    BILINEAR "c=8,dtype=f16,layout=nhwc," TWICE "stride=4096x1x264x16",
    BILINEAR "c=8,dtype=f16,layout=nhwc," TWICE "stride=2500x1x164x10",
    BILINEAR "c=8,dtype=f32,layout=nhwc,in=5x7,out=9x13,stride=1400x1x151x11",
    BILINEAR "c=3,dtype=f32,layout=nhwc," TWICE "stride=900x1x60x3",
    BILINEAR "c=1,dtype=f32,layout=nhwc," TWICE "stride=900x1x60x3",
    "upsample_trilinear3d_backward:n=2,c=6,in=3x4x5,out=6x8x10,dtype=f16,layout=nhwc,stride=4999x1x700x84x8",
    // Wide filters: one axis after the other, from global and from shared memory.
    "_upsample_bicubic2d_aa_backward:n=2,c=3,in=9x10,out=27x32,dtype=f32,stride=4096x1024x33x1",
    "_upsample_bicubic2d_aa_backward:n=2,c=3,in=9x10,out=27x32,dtype=f16,stride=4096x1024x32x1",
    "_upsample_bicubic2d_aa_backward:n=2,c=3,in=10x9,out=32x27,dtype=f32,stride=4096x1024x27x1",
    "_upsample_bicubic2d_aa_backward:n=2,c=4,in=9x10,out=27x32,dtype=f16,layout=nhwc,stride=8192x1x192x5",
    "_upsample_bicubic2d_aa_backward:n=2,c=3,in=9x10,out=27x31,dtype=f32,layout=nhwc,stride=4000x1x124x4",
};

// A place that is not aligned becomes its neighbour, so that the result is wrong. Places in grad_output are
// taken to lie GT_TEST_SHIFT bytes further on: as if it started at no better a place than it has to.
static const char checks[] =
    "#define GT_TEST_PLACE(bytes, shift, at) ((at) + ((((gt_u64)(at) + (shift)) & ((bytes) - 1)) != 0))\n"
    "#define GT_TEST_GRADIENT_16(at) GT_TEST_PLACE(16u, GT_TEST_SHIFT, at)\n"
    "#define GT_TEST_GRADIENT_8(at) GT_TEST_PLACE(8u, GT_TEST_SHIFT, at)\n"
    "#define GT_TEST_GRADIENT_4(at) GT_TEST_PLACE(4u, GT_TEST_SHIFT, at)\n"
    "#define GT_TEST_WORKSPACE_16(at) GT_TEST_PLACE(16u, 0u, at)\n"
    "#define GT_TEST_WORKSPACE_8(at) GT_TEST_PLACE(8u, 0u, at)\n"
    "#define GT_TEST_WORKSPACE_4(at) GT_TEST_PLACE(4u, 0u, at)\n";

// Bytes of what grad_output has to start at a multiple of, as docs/problem-form.md has it.
static int64_t needed_alignment(const gt_problem *problem) {
  int64_t stride[GT_DIMENSIONS], bytes = 16, element = (int64_t)gt_dtype_bytes(problem->dtype);
  int innermost = problem->layout == GT_NHWC ? 1 : 4;
  gt_strides_of(problem, stride);
  for (int i = 0; i < GT_DIMENSIONS; i++) {
    if (i == innermost || (i >= 2 && problem->out[i - 2] == 1)) continue;
    while (stride[i] * element % bytes) bytes /= 2;
  }
  return bytes;
}

// The source with a check before every place that a vector is loaded from. Counts them.
static char *checked_source(const char *source, const gt_problem *problem, size_t *count) {
  static const char *const loads[][2] = {{"(const GT_GLOBAL gt_vec16 *)(", "16"},
                                         {"(const GT_GLOBAL gt_vec8 *)(", "8"},
                                         {"(const GT_GLOBAL gt_u32 *)(", "4"}};
  const char *later_passes = strstr(source, "gt_pass_2"); // these read workspaces
  gt_buffer text = {0};
  gt_buffer_print(&text, "#define GT_TEST_SHIFT %du\n%s", (int)needed_alignment(problem), checks);
  while (*source) {
    size_t length = 1;
    const char *width = NULL;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
      if (strncmp(source, loads[i][0], strlen(loads[i][0])) == 0) {
        length = strlen(loads[i][0]) - 1;
        width = loads[i][1];
        ++*count;
      }
    gt_buffer_append(&text, source, length);
    if (width)
      gt_buffer_print(&text, "GT_TEST_%s_%s",
                      later_passes && source > later_passes ? "WORKSPACE" : "GRADIENT", width);
    source += length;
  }
  return text.data;
}

static void progress(void *context, const char *phase) {
  (void)context, (void)phase;
}

typedef struct {
  gt_session session;
  gt_generator *generator;
  size_t runs, vector_loads;
} fixture;

static void check_configuration(fixture *f, const gt_problem *problem, const char *configuration,
                                bool check) {
  gt_error error = {0};
  gt_variant variant;
  gt_result result;
  if (gt_render(f->generator, configuration, problem, &f->session.open.fingerprint, &variant, &error) !=
      GT_OK)
    fail_msg("%s: %s", configuration, error.text);
  const gt_open_device *open = &f->session.open;
  char *source = checked_source(variant.source, problem, &f->vector_loads), text[GT_PROBLEM_TEXT];
  gt_buffer code = {0}, log = {0};
  gt_problem_print(problem, text);
  if (open->backend->compile(open->device, open->fingerprint.arch, source, &code, &log, &error) != GT_OK)
    fail_msg("%s %s: %s", text, configuration, error.text);
  gt_session_trial(&f->session, &(gt_built){&variant, code.data, code.length}, check, NULL, &result);
  if (result.outcome != GT_OUTCOME_OK)
    fail_msg("%s %s: %s: %s", text, configuration, gt_outcome_name(result.outcome), result.message.data);
  f->runs++;
  free(source);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_result_free(&result);
  gt_variant_free(&variant);
}

static void check_family(fixture *f, const gt_problem *problem, const char *family) {
  const gt_fingerprint *device = &f->session.open.fingerprint;
  gt_error error = {0};
  gt_family_role role;
  const char *description;
  assert_int_equal(gt_family_describe(f->generator, family, &role, &description, &error), GT_OK);
  if (gt_family_claims(f->generator, family, problem, device, &error) != GT_OK) return;
  char *standard;
  gt_space space;
  assert_int_equal(gt_family_default(f->generator, family, problem, device, &standard, &error), GT_OK);
  assert_int_equal(gt_space_make(f->generator, family, problem, device, &space, &error), GT_OK);
  check_configuration(f, problem, standard, role != GT_ROLE_BOUND);
  // Far into the space: another order of passes, larger tiles.
  check_configuration(f, problem, space.configurations[space.count * 3 / 4], role != GT_ROLE_BOUND);
  gt_space_free(&space);
  free(standard);
}

// The back end to test: $GT_CONTRACT_BACKENDS, or OpenCL. One only, since two of their compilers cannot share
// a process.
static void every_family_reads_around_gaps(void **state) {
  (void)state;
  const char *wanted = getenv("GT_CONTRACT_BACKENDS");
  char name[32];
  snprintf(name, sizeof name, "%s:0", wanted ? wanted : "opencl");
  gt_error error = {0};
  fixture f = {.session.progress = progress};
  if (gt_device_open(name, &f.session.open, &error) != GT_OK) {
    if (wanted) fail_msg("%s", error.text);
    print_message("%s\n", error.text);
    skip();
  }
  f.session.open.fingerprint.last_level_cache_bytes = 0; // nothing is timed: one pair of buffers is enough
  if (gt_generator_open(NULL, &f.generator, &error) != GT_OK) fail_msg("%s", error.text);
  size_t n_families;
  const char *const *families = gt_generator_families(f.generator, &n_families);
  const char *every = getenv("GT_TEST_EVERY"); // so many problems, the first only: where compilers are slow
  size_t step = every ? (size_t)strtoul(every, NULL, 10) : 1, tried = 0;
  assert_true(step > 0);
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i += step, tried++) {
    gt_problem problem;
    gt_buffer note = {0};
    if (gt_problem_parse(problems[i], &problem, &error) != GT_OK) fail_msg("%s: %s", problems[i], error.text);
    assert_true(problem.strided);
    if (gt_session_problem(&f.session, &problem, NULL, &note, &error) != GT_OK)
      fail_msg("%s: %s", problems[i], error.text);
    for (size_t k = 0; k < n_families; k++) check_family(&f, &problem, families[k]);
    gt_buffer_free(&note);
  }
  assert_true(f.runs > 3 * tried);
  assert_true(f.vector_loads > f.runs);
  gt_generator_close(f.generator);
  gt_session_close(&f.session);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_family_reads_around_gaps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
