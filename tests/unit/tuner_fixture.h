// A workshop whose workers are the test program itself, and everything around it.
#ifndef GT_TESTS_TUNER_FIXTURE_H
#define GT_TESTS_TUNER_FIXTURE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "device/device.h"
#include "tuner/tune.h"
#include "tuner/worker.h"

#define TUNER_TEMPLATES "tests/unit/tuner_templates"
#define TUNER_PROBLEM "upsample_bilinear2d_backward:n=2,c=3,in=5x7,out=10x14,dtype=f32"

static inline gt_problem tuner_problem(const char *text) {
  gt_problem problem;
  gt_error error = {0};
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s", error.text);
  return problem;
}

static inline gt_generator *tuner_generator(void) {
  gt_generator *generator;
  gt_error error = {0};
  if (gt_generator_open(TUNER_TEMPLATES, &generator, &error) != GT_OK) fail_msg("%s", error.text);
  return generator;
}

static inline gt_workshop *tuner_workshop(const char *device) {
  gt_workshop_options options;
  gt_workshop *workshop;
  gt_error error = {0};
  gt_workshop_defaults(&options);
  options.launch_seconds = 8; // generous: a loaded machine is no hang
  if (gt_workshop_open(device, &options, &workshop, &error) != GT_OK) fail_msg("%s", error.text);
  return workshop;
}

// OpenCL on this machine, or the test is skipped.
static inline gt_workshop *tuner_opencl(void) {
  gt_workshop *workshop;
  gt_workshop_options options;
  gt_error error = {0};
  gt_workshop_defaults(&options);
  options.launch_seconds = 8; // generous: a loaded machine is no hang
  if (gt_workshop_open("opencl:0", &options, &workshop, &error) != GT_OK) {
    print_message("no OpenCL device: %s\n", error.text);
    skip();
  }
  return workshop;
}

static inline gt_timing_options tuner_timing(void) {
  gt_timing_options timing;
  gt_timing_defaults(&timing);
  timing.batch_us = 50;
  timing.min_batches = 3;
  timing.max_batches = 5;
  timing.max_seconds = 0.1;
  return timing;
}

static inline gt_variant tuner_variant(gt_generator *generator, const char *configuration,
                                       const gt_problem *problem, const gt_workshop *workshop) {
  gt_variant variant;
  gt_error error = {0};
  if (gt_render(generator, configuration, problem, gt_workshop_fingerprint(workshop), &variant, &error) !=
      GT_OK)
    fail_msg("%s: %s", configuration, error.text);
  return variant;
}

// A file with a text, to be removed by the caller.
static inline char *tuner_file(const char *text) {
  char *path = gt_strdup("/tmp/gathertune-tuner-XXXXXX");
  int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
  return path;
}

static inline void tuner_remove(char *path) {
  unlink(path);
  free(path);
}

// The program is its own worker.
#define TUNER_MAIN(tests)                                                          \
  int main(int argc, char **argv) {                                                \
    if (argc > 1 && strcmp(argv[1], "--worker") == 0) return gt_worker_main(0, 1); \
    return cmocka_run_group_tests(tests, NULL, NULL);                              \
  }

#endif
