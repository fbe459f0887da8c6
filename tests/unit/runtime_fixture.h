// What the tests of the library share: a folder of their own with a scripted device and a cache, and no other
// caches.
#ifndef GT_TESTS_UNIT_RUNTIME_FIXTURE_H
#define GT_TESTS_UNIT_RUNTIME_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "include/gathertune.h"

#define CASE(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

#define OPERATOR "upsample_bilinear2d_backward:"
#define PROBLEM OPERATOR "n=2,c=3,in=6x5,out=12x10,dtype=f32"
#define SAMPLER "grid_sampler_2d_backward:" // of several tensors
#define CANONICAL PROBLEM ",layout=nchw,align_corners=0"

typedef struct {
  char folder[4096], home[4096];
} fixture;

static inline void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int enter_folder(void **state) {
  fixture *f = gt_alloc(sizeof *f);
  snprintf(f->folder, sizeof f->folder, "/tmp/gathertune-XXXXXX");
  if (!getcwd(f->home, sizeof f->home) || !mkdtemp(f->folder) || chdir(f->folder)) return -1;
  write_text("gpu.json",
             "{\"fingerprint\": {\"arch\": \"gfx942\", \"target\": \"hip\", \"name\": \"Imaginary X\"}, "
             "\"hashed\": [50, 200]}");
  setenv("GATHERTUNE_CACHE", "cache.db", 1);
  setenv("GATHERTUNE_SYSTEM_CACHE", "", 1);
  unsetenv("GATHERTUNE_TRUST");
  unsetenv("GATHERTUNE_TEMPLATES");
  // The program of this build, two folders above this test's.
  char self[4000] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return -1;
  for (int i = 0; i < 3; i++) *strrchr(self, '/') = 0;
  strcat(self, "/gathertune");
  setenv("GATHERTUNE_PROGRAM", self, 1);
  *state = f;
  return 0;
}

static int leave_folder(void **state) {
  fixture *f = *state;
  char *command = gt_print("chmod -R u+rwx '%s' && rm -rf '%s'", f->folder, f->folder);
  int failed = chdir(f->home) || system(command);
  free(command);
  free(f);
  return failed ? -1 : 0;
}

static inline gathertune_context *open_mode(const char *device, gathertune_mode mode) {
  gathertune_context *context;
  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  options.device = device;
  options.mode = mode;
  options.trials = 4;
  options.seconds = 60;
  if (gathertune_open(&options, &context) != GATHERTUNE_OK) fail_msg("%s", gathertune_message(context));
  return context;
}

static inline const gathertune_plan *plan_of(gathertune_context *context, const char *problem) {
  const gathertune_plan *plan;
  if (gathertune_get_plan(context, problem, 0, &plan) != GATHERTUNE_OK)
    fail_msg("%s", gathertune_message(context));
  assert_non_null(plan);
  return plan;
}

static inline gathertune_plan_info describe(const gathertune_plan *plan) {
  gathertune_plan_info info = {.size = sizeof info};
  gathertune_describe(plan, &info);
  return info;
}

#define assert_has(text, part) \
  if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text)

// The request fails with the status, and a line that has the part.
#define REFUSE(context, problem, flags, expected, part)                                               \
  do {                                                                                                \
    const gathertune_plan *none_ = (const gathertune_plan *)1;                                        \
    assert_string_equal(gathertune_status_name(gathertune_get_plan(context, problem, flags, &none_)), \
                        #expected);                                                                   \
    assert_null(none_);                                                                               \
    assert_has(gathertune_message(context), part);                                                    \
    assert_null(strchr(gathertune_message(context), '\n'));                                           \
  } while (0)

// Runs a command of the shell, which must succeed.
static inline void shell(const char *format, ...) {
  char command[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  int status = system(command);
  if (status != 0) fail_msg("%s: %d", command, status);
}

static inline void tune(const char *problem) {
  shell("\"$GATHERTUNE_PROGRAM\" tune '%s' --device recorded:gpu.json --families taps --budget 2 >/dev/null "
        "2>&1",
        problem);
}

#endif
