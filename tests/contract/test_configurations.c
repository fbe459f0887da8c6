// Configurations that are hard for their family, checked as the tuner checks them: against float64, in
// poisoned memory with guards around it. All in one process, on the back end that is wanted.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/generator.h"
#include "tuner/trial.h"

#define BILINEAR "upsample_bilinear2d_backward:"
#define BICUBIC "upsample_bicubic2d_backward:"
#define MOST 5

typedef struct {
  const char *problem, *configurations[MOST];
} hard_case;

// A CPU emulates all ways to copy, and its blocks need not be of whole waves.
static const hard_case on_opencl[] = {
    // Slices that start at any multiple of 8 bytes, threads of which the last has one input, a stage per
    // step.
    {BILINEAR "n=2,c=3,in=9x13,out=18x26,dtype=f16,scale=2x2",
     {"ring:copy=bulk,stages=8,parts=1,rows=1,vx=4,load=2,acc=float",
      "ring:copy=async,stages=8,parts=1,rows=1,vx=2,load=2,acc=float",
      "ring:copy=vectors,stages=2,parts=2,rows=2,vx=4,load=2,acc=float"}},
    // Slices at multiples of 4 bytes, rows of 2; parts of 4 and of 3 inputs.
    {BILINEAR "n=3,c=1,in=7x9,out=14x17,dtype=f16,align_corners=1",
     {"ring:copy=bulk,stages=2,parts=2,rows=2,vx=4,load=1,acc=float",
      "ring:copy=async,stages=3,parts=2,rows=1,vx=1,load=1,acc=float"}},
    // Loads of 8 bytes from rows that start at odd multiples of them.
    {BILINEAR "n=1,c=3,in=21x18,out=42x36,dtype=f16",
     {"ring:copy=bulk,stages=3,parts=4,rows=2,vx=4,load=4,acc=float"}},
    // Tables of weights and starts; parts of 5, 5 and 3 inputs, and of 4, 4, 4 and 1.
    {BICUBIC "n=1,c=5,in=13x18,out=17x38,dtype=f32",
     {"ring:copy=vectors,stages=2,parts=3,rows=1,vx=4,load=1,acc=float",
      "ring:copy=async,stages=4,parts=4,rows=1,vx=4,load=2,acc=float",
      "ring:copy=bulk,stages=3,parts=4,rows=2,vx=4,load=1,acc=float",
      "tile:strip=8,slices=1,vx=2,vy=2,acc=float"}},
    // Fewer outputs than inputs: intervals of none, inputs that got nothing.
    {BILINEAR "n=2,c=3,in=33x22,out=20x31,dtype=f64",
     {"ring:copy=bulk,stages=2,parts=4,rows=4,vx=4,load=1,acc=double",
      "tile:strip=16,slices=1,vx=4,vy=4,acc=double"}},
    {BILINEAR "n=1,c=3,in=70x23,out=31x41,dtype=bf16",
     {"ring:copy=async,stages=3,parts=5,rows=4,vx=2,load=1,acc=float",
      "ring:copy=vectors,stages=2,parts=8,rows=8,vx=1,load=1,acc=float"}},
    {"upsample_nearest2d_backward:n=1,c=3,in=31x29,out=17x91,dtype=f32",
     {"ring:copy=bulk,stages=2,parts=6,rows=4,vx=2,load=1,acc=float"}},
    // The same height.
    {BILINEAR "n=2,c=2,in=12x27,out=12x61,dtype=bf16",
     {"ring:copy=async,stages=6,parts=2,rows=1,vx=4,load=1,acc=float"}},
    // Windows of averages and of wide filters.
    {"adaptive_avg_pool2d_backward:n=2,c=3,in=37x41,out=11x13,dtype=f32",
     {"ring:copy=bulk,stages=3,parts=3,rows=8,vx=2,load=1,acc=float"}},
    {"_upsample_bilinear2d_aa_backward:n=2,c=3,in=31x29,out=14x17,dtype=bf16",
     {"ring:copy=async,stages=3,parts=6,rows=4,vx=1,load=1,acc=float"}},

    // Copies of slices at any multiple of 4 bytes, of odd rows, and of pairs.
    {BILINEAR "n=3,c=1,in=7x9,out=14x17,dtype=f16", {"tile:strip=4,slices=1,vx=2,vy=1,acc=float"}},
    {BILINEAR "n=3,c=5,in=7x9,out=14x18,dtype=f32,align_corners=1",
     {"tile:strip=2,slices=1,vx=4,vy=2,acc=float"}},
    // Several slices a block, the last not full.
    {BILINEAR "n=7,c=3,in=5x7,out=9x11,dtype=bf16",
     {"tile:strip=whole,slices=4,vx=4,vy=2,acc=float", "tile:strip=whole,slices=8,vx=2,vy=4,acc=float"}},
    // Reads of two and of four elements that lie alike in all tiles.
    {BILINEAR "n=2,c=3,in=9x7,out=18x14,dtype=f16,scale=2x2", {"tile:strip=8,slices=1,vx=4,vy=4,acc=float"}},
    {BILINEAR "n=2,c=3,in=8x10,out=16x20,dtype=f16,scale=2x2", {"tile:strip=4,slices=1,vx=2,vy=2,acc=float"}},
    // Fewer outputs than threads, and windows of many rows.
    {"_upsample_bilinear2d_aa_backward:n=2,c=3,in=31x29,out=7x9,dtype=bf16",
     {"tile:strip=whole,slices=1,vx=2,vy=8,acc=float"}},
    {"adaptive_avg_pool2d_backward:n=2,c=3,in=13x11,out=4x3,dtype=f16",
     {"tile:strip=2,slices=1,vx=1,vy=1,acc=float"}},
    {"upsample_nearest2d_backward:n=2,c=3,in=1x1,out=5x7,dtype=f32",
     {"tile:strip=whole,slices=4,vx=1,vy=1,acc=float"}},
    {"upsample_linear1d_backward:n=2,c=3,in=33,out=70,dtype=f16",
     {"tile:strip=whole,slices=3,vx=2,vy=1,acc=float", "tile:strip=whole,slices=6,vx=4,vy=1,acc=float"}},
};

// Blocks are of whole waves, some of whose lanes have no inputs.
static const hard_case on_hip[] = {
    {BILINEAR "n=2,c=3,in=9x53,out=18x106,dtype=f16,scale=2x2",
     {"ring:copy=vectors,stages=2,parts=2,rows=4,vx=1,load=2,acc=float,order=xcd,stores=nontemporal"}},
    {BILINEAR "n=3,c=1,in=7x57,out=14x113,dtype=f16,align_corners=1",
     {"ring:copy=vectors,stages=2,parts=4,rows=2,vx=1,load=1,acc=float,order=linear,stores=plain"}},
    {BICUBIC "n=1,c=3,in=11x63,out=17x97,dtype=f32",
     {"ring:copy=vectors,stages=2,parts=4,rows=1,vx=1,load=1,acc=float,order=linear,stores=plain"}},
    {BILINEAR "n=2,c=2,in=40x103,out=13x181,dtype=bf16",
     {"ring:copy=vectors,stages=2,parts=6,rows=4,vx=2,load=1,acc=float,order=xcd,stores=plain"}},
    {"adaptive_avg_pool2d_backward:n=1,c=2,in=37x61,out=11x13,dtype=f32",
     {"ring:copy=vectors,stages=2,parts=3,rows=8,vx=1,load=1,acc=float,order=xcd,stores=nontemporal"}},
};

static void progress(void *context, const char *phase) {
  (void)context, (void)phase;
}

static void check_configuration(gt_session *session, gt_generator *generator, const gt_problem *problem,
                                const char *text, const char *configuration) {
  const gt_open_device *open = &session->open;
  gt_error error = {0};
  gt_variant variant;
  gt_result result;
  gt_buffer code = {0}, log = {0};
  if (gt_render(generator, configuration, problem, &open->fingerprint, &variant, &error) != GT_OK)
    fail_msg("%s: %s", text, error.text);
  if (open->backend->compile(open->device, open->fingerprint.arch, variant.source, &code, &log, &error) !=
      GT_OK)
    fail_msg("%s %s: %s", text, configuration, error.text);
  gt_session_trial(session, &(gt_built){&variant, code.data, code.length}, true, NULL, &result);
  if (result.outcome != GT_OUTCOME_OK)
    fail_msg("%s %s: %s: %s", text, configuration, gt_outcome_name(result.outcome), result.message.data);
  assert_true(result.checked);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
  gt_result_free(&result);
  gt_variant_free(&variant);
}

static void check_cases(gt_session *session, gt_generator *generator, const hard_case *cases, size_t count,
                        size_t step) {
  for (size_t i = 0; i < count; i += step) {
    gt_problem problem;
    gt_buffer note = {0};
    gt_error error = {0};
    if (gt_problem_parse(cases[i].problem, &problem, &error) != GT_OK ||
        gt_session_problem(session, &problem, NULL, &note, &error) != GT_OK)
      fail_msg("%s: %s", cases[i].problem, error.text);
    for (size_t k = 0; k < MOST && cases[i].configurations[k]; k++)
      check_configuration(session, generator, &problem, cases[i].problem, cases[i].configurations[k]);
    gt_buffer_free(&note);
  }
}

// The back end to test: $GT_CONTRACT_BACKENDS, or OpenCL. One only, since two of their compilers cannot share
// a process.
static void hard_configurations_give_the_right_result(void **state) {
  (void)state;
  const char *wanted = getenv("GT_CONTRACT_BACKENDS");
  char name[32];
  snprintf(name, sizeof name, "%s:0", wanted ? wanted : "opencl");
  gt_error error = {0};
  gt_session session = {.progress = progress};
  gt_generator *generator;
  if (gt_device_open(name, &session.open, &error) != GT_OK) {
    if (wanted) fail_msg("%s", error.text);
    print_message("%s\n", error.text);
    skip();
  }
  session.open.fingerprint.last_level_cache_bytes = 0; // nothing is timed: one pair of buffers is enough
  if (gt_generator_open(NULL, &generator, &error) != GT_OK) fail_msg("%s", error.text);
  const char *every = getenv("GT_TEST_EVERY"); // so many cases, the first only: where compilers are slow
  size_t step = every ? (size_t)strtoul(every, NULL, 10) : 1;
  assert_true(step > 0);
  if (!strcmp(name, "hip:0")) check_cases(&session, generator, on_hip, sizeof on_hip / sizeof *on_hip, 1);
  if (!strcmp(name, "opencl:0"))
    check_cases(&session, generator, on_opencl, sizeof on_opencl / sizeof *on_opencl, step);
  gt_generator_close(generator);
  gt_session_close(&session);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(hard_configurations_give_the_right_result)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
