// Tuning runs with everything around them, for tests of what tuning does.
#ifndef GT_TESTS_TUNE_RUN_H
#define GT_TESTS_TUNE_RUN_H

#include "tests/unit/tuner_fixture.h"

// A tuning run on a scripted or a real device, with a cache of its own.
typedef struct {
  gt_workshop *workshop;
  gt_generator *generator;
  gt_cache *cache;
  char *script, *database;
  gt_problem problem;
  gt_tune_options options;
  gt_tuned tuned;
  gt_error error;
  // From the progress calls.
  size_t calls, fresh, rejected, outcomes[16], interrupt_after;
  double busy; // as last told
  char *messages[16]; // last message per outcome
  char *order[64];    // configurations in the order in which they were done
} run;

static inline void start(run *r, gt_workshop *workshop, const char *families) {
  *r = (run){.workshop = workshop};
  r->generator = tuner_generator();
  r->database = gt_strdup("/tmp/gathertune-tune-XXXXXX");
  int file = mkstemp(r->database);
  assert_true(file >= 0);
  close(file);
  unlink(r->database);
  if (gt_cache_open(r->database, GT_CACHE_WRITE, &r->cache, &r->error) != GT_OK)
    fail_msg("%s", r->error.text);
  r->problem = tuner_problem(TUNER_PROBLEM);
  gt_tune_defaults(&r->options);
  r->options.timing = tuner_timing();
  r->options.families = families;
}

static inline void start_script_with(run *r, const char *script, const char *families, int jobs) {
  char *path = tuner_file(script), *device = gt_print("recorded:%s", path);
  gt_workshop_options options;
  gt_workshop *workshop;
  gt_error error = {0};
  gt_workshop_defaults(&options);
  options.compile_seconds = options.launch_seconds = 6;
  options.compile_jobs = jobs;
  if (gt_workshop_open(device, &options, &workshop, &error) != GT_OK) fail_msg("%s", error.text);
  free(device);
  start(r, workshop, families);
  r->script = path;
}

static inline void start_script(run *r, const char *script, const char *families) {
  start_script_with(r, script, families, 1);
}

static inline void on_progress(void *context, const gt_tune_progress *now) {
  run *r = context;
  r->calls++;
  assert_true(now->done <= now->total);
  r->rejected = now->rejected;
  r->busy = now->device_busy;
  if (!now->last) return;
  if (now->done <= 64) r->order[now->done - 1] = gt_strdup(now->last->configuration);
  r->fresh += !now->cached;
  r->outcomes[now->last->outcome]++;
  free(r->messages[now->last->outcome]);
  r->messages[now->last->outcome] = gt_strdup(now->last->message ? now->last->message : "");
  if (r->interrupt_after && r->fresh == r->interrupt_after) gt_workshop_interrupt();
}

static inline gt_status tune(run *r) {
  gt_tuned_free(&r->tuned);
  r->calls = r->fresh = 0;
  for (int i = 0; i < 64; i++) {
    free(r->order[i]);
    r->order[i] = NULL;
  }
  memset(r->outcomes, 0, sizeof r->outcomes);
  return gt_tune(r->generator, r->workshop, r->cache, &r->problem, &r->options, on_progress, r, &r->tuned,
                 &r->error);
}

// One trial failed, and that in this way.
static inline void assert_one_failed(const run *r, gt_outcome outcome, const char *message) {
  assert_int_equal(r->tuned.failed, 1);
  assert_int_equal(r->outcomes[outcome], 1);
  if (!strstr(r->messages[outcome], message)) fail_msg("%s", r->messages[outcome]);
}

static inline void end(run *r) {
  gt_tuned_free(&r->tuned);
  for (int i = 0; i < 16; i++) free(r->messages[i]);
  for (int i = 0; i < 64; i++) free(r->order[i]);
  gt_cache_close(r->cache);
  gt_generator_close(r->generator);
  gt_workshop_close(r->workshop);
  static const char *const endings[] = {"", "-wal", "-shm"};
  for (int i = 0; i < 3; i++) {
    char *path = gt_print("%s%s", r->database, endings[i]);
    unlink(path);
    free(path);
  }
  free(r->database);
  if (r->script) tuner_remove(r->script);
}

#define SCRIPT(rules) "{\"fingerprint\":{\"target\":\"opencl\"},\"default_us\":100,\"rules\":[" rules "]}"

#endif
