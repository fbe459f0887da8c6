// What the tests of the cache share: a folder of their own, a device, problems, trials and winners.
#ifndef GT_TESTS_UNIT_CACHE_FIXTURE_H
#define GT_TESTS_UNIT_CACHE_FIXTURE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "base/buffer.h"
#include "cache/cache.h"
#include "tests/gpu_fixture.h"

// A test case with a fresh folder; its name is the function's.
#define CASE(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

typedef struct {
  char folder[4096], path[4200]; // of a cache that does not exist yet
} fixture;

static int make_folder(void **state) {
  fixture *f = gt_alloc(sizeof *f);
  const char *top = getenv("TMPDIR");
  snprintf(f->folder, sizeof f->folder, "%s/gathertune-XXXXXX", top && top[0] ? top : "/tmp");
  if (!mkdtemp(f->folder)) return -1;
  snprintf(f->path, sizeof f->path, "%s/cache.db", f->folder);
  *state = f;
  return 0;
}

static int remove_folder(void **state) {
  fixture *f = *state;
  char *command = gt_print("chmod -R u+rwx '%s' && rm -rf '%s'", f->folder, f->folder);
  int failed = system(command);
  free(command);
  free(f);
  return failed ? -1 : 0;
}

#define assert_ok(call)                                                            \
  do {                                                                             \
    gt_status status_ = (call);                                                    \
    if (status_ != GT_OK) fail_msg("%s: %s", gt_status_name(status_), error.text); \
  } while (0)

#define assert_status(call, expected) assert_string_equal(gt_status_name(call), #expected)

static inline int count_files(const char *folder) {
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  int count = 0;
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

static inline gt_cache *open_cache(const char *path, gt_cache_mode mode) {
  gt_error error = {0};
  gt_cache *cache = NULL;
  assert_ok(gt_cache_open(path, mode, &cache, &error));
  return cache;
}

static inline gt_fingerprint a_device(void) {
  return test_gpu();
}

static inline gt_problem a_problem(int n, const char *dtype) {
  gt_problem problem;
  gt_error error = {0};
  char *text = gt_print("upsample_bilinear2d_backward:n=%d,c=1,in=16x16,out=32x32,dtype=%s", n, dtype);
  assert_ok(gt_problem_parse(text, &problem, &error));
  free(text);
  return problem;
}

// Owns nothing: not to be freed with gt_trial_free.
static inline gt_trial a_trial(const char *configuration) {
  static double samples[] = {10.125, 1.0 / 3, 12};
  return (gt_trial){.configuration = (char *)configuration,
                    .source_hash = "0123456789abcdef0123456789abcdef",
                    .outcome = GT_OUTCOME_OK,
                    .message = "",
                    .samples_us = samples,
                    .n_samples = 3,
                    .median_us = 10.125,
                    .spread_us = 0.1,
                    .checked = true,
                    .compile_ms = 34.5,
                    .registers = 64,
                    .lds_bytes = 0,
                    .scratch_bytes = -1,
                    .noisy = true,
                    .readings = {61, 2100, 1300}};
}

// Owns nothing: not to be freed with gt_winner_free.
static inline gt_winner a_winner(const char *configuration, const char *code) {
  return (gt_winner){
      .variant =
          {.configuration = (char *)configuration,
           .family = "direct",
           .source_hash = "0123456789abcdef0123456789abcdef",
           .launches = {{.kernel = "main_kernel", .block = {256, 1, 1}, .blocks_num = 3, .blocks_den = 4}},
           .n_launches = 1,
           .workspace_fixed = 128,
           .workspace_per_outer = 4,
           .reproducible = true},
      .median_us = 7.5,
      .spread_us = 0.25,
      .default_us = 30,
      .stream_us = 5,
      .code = (void *)code,
      .code_size = code ? strlen(code) : 0};
}

// Runs SQL on a database as anyone could, past the cache and its checks.
static inline void run_sql(const char *path, const char *sql) {
  sqlite3 *db;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(db);
}

static inline void write_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

#endif
