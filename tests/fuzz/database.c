#include "tests/fuzz/database.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/gc.h"
#include "cli/recording.h"
#include "exchange/json.h"
#include "exchange/merge.h"
#include "exchange/validate.h"
#include "runtime/lookup.h"

static const gt_selection everything;

// --- a good one --------------------------------------------------------------------------------------------

gt_problem fuzz_problem(int n, const char *dtype) {
  gt_problem problem;
  gt_error error = {0};
  char *text = gt_print("upsample_bilinear2d_backward:n=%d,c=1,in=16x16,out=32x32,dtype=%s", n, dtype);
  REQUIRE(gt_problem_parse(text, &problem, &error) == GT_OK, "%s", error.text);
  free(text);
  return problem;
}

static void put_trials(gt_cache *cache, const gt_problem *problem) {
  static double samples[] = {10.125, 1.0 / 3, 12};
  gt_fingerprint device = fuzz_device();
  gt_error error = {0};
  gt_space space = {0};
  REQUIRE(gt_space_make(fuzz_generator(), "direct", problem, &device, &space, &error) == GT_OK, "%s",
          error.text);
  for (size_t i = 0; i < space.count && i < 4; i++) {
    gt_variant variant = {0};
    REQUIRE(gt_render(fuzz_generator(), space.configurations[i], problem, &device, &variant, &error) == GT_OK,
            "%s", error.text);
    gt_trial trial = {.configuration = space.configurations[i],
                      .outcome = i == 3 ? GT_OUTCOME_CRASH : GT_OUTCOME_OK,
                      .message = i == 3 ? "signal 11" : "",
                      .samples_us = samples,
                      .n_samples = i == 3 ? 0 : 3,
                      .median_us = i == 3 ? 0 : 10.125 + (double)i,
                      .spread_us = i == 3 ? 0 : 0.1,
                      .checked = i != 3,
                      .compile_ms = 34.5,
                      .registers = 64,
                      .scratch_bytes = -1,
                      .readings = {61, 2100, 1300}};
    memcpy(trial.source_hash, variant.source_hash, sizeof trial.source_hash);
    REQUIRE(gt_cache_put_trial(cache, &device, problem, &trial, &error) == GT_OK, "%s", error.text);
    gt_recheck recheck = {trial, 30, 7.5, 31};
    if (i == 0)
      REQUIRE(gt_cache_put_recheck(cache, &device, problem, &recheck, &error) == GT_OK, "%s", error.text);
    if (i == 0) {
      gt_tie tie = {space.configurations[1], 7.6, 60};
      gt_winner winner = {.variant = variant,
                          .median_us = 7.5,
                          .spread_us = 0.25,
                          .default_us = 30,
                          .stream_us = 5,
                          .code = "a code object",
                          .code_size = 13,
                          .ties = &tie,
                          .n_ties = 1};
      REQUIRE(gt_cache_put_winner(cache, &device, problem, &winner, &error) == GT_OK, "%s", error.text);
      winner.median_us = 7.25;
      REQUIRE(gt_cache_put_deterministic(cache, &device, problem, &winner, &error) == GT_OK, "%s", error.text);
    }
    gt_variant_free(&variant);
  }
  gt_space_free(&space);
}

static gt_cache *open_good(const char *path, gt_cache_mode mode) {
  gt_cache *cache = NULL;
  gt_error error = {0};
  REQUIRE(gt_cache_open(path, mode, &cache, &error) == GT_OK, "%s", error.text);
  return cache;
}

void fuzz_make_database(const char *path) {
  unlink(path);
  gt_cache *cache = open_good(path, GT_CACHE_WRITE);
  static const char *const dtypes[] = {"f32", "f32", "f16"};
  for (int i = 0; i < 3; i++) {
    gt_problem problem = fuzz_problem(1 + i, dtypes[i]);
    put_trials(cache, &problem);
  }
  gt_problem pool;
  gt_error error = {0};
  const char *text = "avg_pool2d_backward:n=1,c=8,in=8x8,out=4x4,dtype=bf16,layout=nhwc,kernel=2";
  REQUIRE(gt_problem_parse(text, &pool, &error) == GT_OK, "%s", error.text);
  put_trials(cache, &pool);
  gt_cache_close(cache);
}

// What is merged into every database: a collection of the same problems, made once.
static gt_buffer *good_bytes(void) {
  static gt_buffer bytes;
  if (bytes.length) return &bytes;
  const char *path = fuzz_path("good.db");
  fuzz_make_database(path);
  REQUIRE(gt_buffer_read_file(&bytes, path), "cannot read %s", path);
  unlink(path);
  return &bytes;
}

static void read_good(gt_collection *collection, int from) {
  gt_error error = {0};
  const char *path = fuzz_path("good.db");
  fuzz_write(path, good_bytes()->data, good_bytes()->length);
  gt_cache *cache = open_good(path, GT_CACHE_READ);
  REQUIRE(gt_collection_read(collection, cache, &everything, from, &error) == GT_OK, "%s", error.text);
  gt_cache_close(cache);
  unlink(path);
}

// --- reading -----------------------------------------------------------------------------------------------

static void on_winner(void *context, const gt_winner *winner) {
  *(size_t *)context += winner->code_size + winner->n_ties;
}

static void on_trial(void *context, const gt_trial *trial) {
  *(size_t *)context += trial->n_samples;
}

static void on_quarantined(void *context, const gt_quarantined *quarantined) {
  *(size_t *)context += strlen(quarantined->problem) + strlen(quarantined->trial->configuration);
}

static void on_recheck(void *context, const char *model, const char *problem, const char *at,
                       const gt_recheck *recheck) {
  *(size_t *)context += strlen(model) + strlen(problem) + strlen(at) + recheck->trial.n_samples;
}

typedef struct {
  const char *path;
  gt_cache *cache;
  gt_fingerprint device;
  size_t seen;
} use;

// A failure must be told with the file's name. GT_NOT_FOUND is an answer.
static void check(const use *u, gt_status status, const gt_error *error) {
  if (status != GT_OK) fuzz_refused(status, error, u->path);
}

static void read_parts(use *u) {
  gt_cache_counts counts;
  gt_winner winner;
  gt_trial trial;
  gt_problem problem = fuzz_problem(2, "f32"), near = fuzz_problem(9, "f32");
  gt_error error = {0};
  gt_status status;
  check(u, gt_cache_count(u->cache, &counts, &error), &error);
  check(u, gt_cache_each_winner(u->cache, on_winner, &u->seen, &error), &error);
  check(u, gt_cache_each_trial(u->cache, &u->device, &problem, on_trial, &u->seen, &error), &error);
  check(u, gt_cache_each_quarantined(u->cache, on_quarantined, &u->seen, &error), &error);
  check(u, gt_cache_each_recheck(u->cache, on_recheck, &u->seen, &error), &error);
  check(u, gt_cache_get_winner(u->cache, &u->device, &problem, true, &winner, &error), &error);
  gt_winner_free(&winner);
  check(u, gt_cache_get_near_winner(u->cache, &u->device, &near, true, &winner, &error), &error);
  gt_winner_free(&winner);
  status = gt_cache_get_deterministic(u->cache, &u->device, &problem, true, &winner, &error);
  if (status != GT_NOT_FOUND) check(u, status, &error);
  gt_winner_free(&winner);
  memset(&trial, 0, sizeof trial);
  status =
      gt_cache_get_quarantined(u->cache, &u->device, "0123456789abcdef0123456789abcdef", &trial, &error);
  if (status != GT_NOT_FOUND) check(u, status, &error);
  gt_trial_free(&trial);
  check(u, gt_cache_verify(u->cache, &error), &error);
}

// What is taken from a cache can be exported, and comes back from there.
static void export_all(gt_collection *all) {
  gt_buffer text = {0}, again = {0};
  gt_collection back = {0};
  gt_error error = {0};
  gt_json_print(all, true, &text);
  gt_status status = gt_json_read(&back, "export.json", text.data, text.length, 1, &error);
  REQUIRE(status == GT_OK, "what was exported is refused: %s\n%s", error.text, text.data);
  gt_json_print(&back, true, &again);
  REQUIRE(strcmp(text.data, again.data) == 0, "what was exported comes back as something else:\n%s\n%s",
          text.data, again.data);
  gt_buffer_free(&text);
  gt_buffer_free(&again);
  gt_collection_free(&back);
}

static void validate(gt_collection *all) {
  gt_validation validation = {0};
  gt_error error = {0};
  gt_status status = gt_collection_validate(all, fuzz_generator(), "source.db", &validation, &error);
  if (status != GT_OK) fuzz_refused(status, &error, NULL);
}

static void read_collection(use *u, bool with_templates) {
  gt_collection all = {0};
  gt_error error = {0};
  gt_status status = gt_collection_read(&all, u->cache, &everything, 1, &error);
  check(u, status, &error);
  if (status == GT_OK) {
    export_all(&all);
    if (with_templates) validate(&all);
  }
  gt_collection_free(&all);
}

// As a search space for gathertune replay.
static void read_recordings(const use *u) {
  gt_recordings recordings = {0};
  gt_error error = {0};
  const gt_recording_options options = {.least = 1};
  gt_status status = gt_recordings_read(&recordings, u->path, fuzz_generator(), &options, &error);
  if (status != GT_OK) fuzz_refused(status, &error, u->path);
  gt_recordings_free(&recordings);
}

// --- looking up --------------------------------------------------------------------------------------------

// Every answer for a problem, as a program and gathertune lookup get them: a bad cache is passed over, so the
// last one is the default.
static void look_up(gt_finder *finder, const gt_problem *problem) {
  gt_place place = {0};
  gt_found found;
  gt_error error = {0};
  gt_status status;
  const gt_find_options options = {.with_code = true};
  size_t answers = 0;
  bool has_default = false;
  while ((status = gt_find_next(finder, problem, &options, &place, &found, &error)) == GT_OK) {
    uint32_t grid[3];
    const gt_variant *variant = gt_found_variant(&found);
    REQUIRE(variant->n_launches >= 1 && variant->n_launches <= GT_MAX_LAUNCHES, "an answer with %d launches",
            variant->n_launches);
    // Where the configuration alone is known, it is rendered, or something else is launched.
    if (!found.rendered && !found.winner.code && gt_found_render(finder, problem, &found, &error) != GT_OK)
      fuzz_refused(error.status, &error, NULL);
    REQUIRE(gt_variant_workspace(variant, gt_problem_outer(problem)) >= 0, "a workspace below 0");
    for (int i = 0; i < variant->n_launches; i++)
      if (gt_launch_grid(&variant->launches[i], gt_problem_outer(problem), grid, &error) != GT_OK)
        fuzz_refused(error.status, &error, NULL);
    has_default = has_default || found.origin == GT_ORIGIN_DEFAULT;
    gt_found_free(&found);
    REQUIRE(++answers < 100, "there is no end of answers");
  }
  REQUIRE(status == GT_NOT_FOUND, "looking up ends as %s: %s", gt_status_name(status), error.text);
  REQUIRE(has_default, "no default");
  if (place.passed.status != GT_OK) fuzz_refused(place.passed.status, &place.passed, NULL);
}

static void look_up_all(const use *u) {
  gt_layers layers = {0};
  gt_error error = {0};
  const gt_layers_options options = {.caches = &u->path, .n_caches = 1};
  gt_problem exact = fuzz_problem(2, "f32"), alike = fuzz_problem(4, "bf16");
  REQUIRE(gt_layers_open(&options, &layers, &error) == GT_OK, "%s", error.text);
  for (size_t i = 0, begin = 0; i < layers.notes.length; i++) { // notes are lines, each with the file's name
    unsigned char c = (unsigned char)layers.notes.data[i];
    REQUIRE(c == '\n' || (c >= ' ' && c != 127), "a note with control characters: %s", layers.notes.data);
    if (c != '\n') continue;
    REQUIRE(memmem(layers.notes.data + begin, i - begin, u->path, strlen(u->path)),
            "a note without a file: %s", layers.notes.data + begin);
    begin = i + 1;
  }
  gt_finder *finder = gt_finder_open(&layers, &u->device, NULL);
  look_up(finder, &exact);
  if (!fuzz_thorough) look_up(finder, &alike); // renders much
  gt_finder_close(finder);
  gt_layers_close(&layers);
}

// --- writing -----------------------------------------------------------------------------------------------

enum { USER_VERSION_BYTE = 63 }; // the last of four, in the header

// As gathertune merge: one change, of which all or nothing stays.
static gt_status merge(const use *u, gt_error *error) {
  gt_cache *cache = NULL;
  gt_collection all = {0};
  gt_merge_counts counts;
  gt_status status = gt_cache_open(u->path, GT_CACHE_WRITE, &cache, error);
  if (status == GT_OK) status = gt_cache_begin(cache, error);
  if (status == GT_OK) {
    status = gt_collection_read(&all, cache, &everything, GT_FROM_TARGET, error);
    if (status == GT_OK) read_good(&all, 1);
    if (status == GT_OK) gt_merge_settle(&all, NULL, NULL, &counts);
    if (status == GT_OK) status = gt_collection_write(&all, cache, error);
    status = gt_cache_end(cache, status, error);
  }
  gt_collection_free(&all);
  gt_cache_close(cache);
  return status;
}

static gt_status collect(const use *u, gt_error *error) {
  gt_cache *cache = NULL;
  gt_gc_counts counts;
  const gt_gc_options options = {.older_than_days = 1};
  gt_status status = gt_cache_open(u->path, GT_CACHE_WRITE, &cache, error);
  if (status == GT_OK) status = gt_cache_collect(cache, &options, &counts, error);
  gt_cache_close(cache);
  return status;
}

// What opening the file for writing leaves of it: a file of an older version becomes the present one. False
// when it is refused.
static bool open_for_writing(const use *u, const gt_buffer *before, gt_buffer *after) {
  gt_cache *cache = NULL;
  gt_error error = {0};
  fuzz_write(u->path, before->data, before->length);
  gt_status status = gt_cache_open(u->path, GT_CACHE_WRITE, &cache, &error);
  gt_cache_close(cache);
  if (status != GT_OK) {
    fuzz_refused(status, &error, u->path);
    fuzz_same(u->path, before->data, before->length, "being refused");
    return false;
  }
  REQUIRE(gt_buffer_read_file(after, u->path), "cannot read %s", u->path);
  bool same = after->length == before->length && memcmp(after->data, before->data, after->length) == 0;
  REQUIRE(same || before->data[USER_VERSION_BYTE] == 1, "%s was changed by opening it", u->path);
  return true;
}

static void write_to(const use *u, const gt_buffer *before, size_t files, const char *what,
                     gt_status (*change)(const use *u, gt_error *error)) {
  gt_error error = {0};
  gt_buffer opened = {0};
  if (open_for_writing(u, before, &opened)) {
    gt_status status = change(u, &error);
    if (status != GT_OK) {
      fuzz_refused(status, &error, u->path);
      fuzz_same(u->path, opened.data, opened.length, what);
    }
  }
  REQUIRE(fuzz_count_files() == files, "%s leaves files behind", what);
  gt_buffer_free(&opened);
}

static void read_it(use *u, gt_cache_mode mode) {
  gt_error error = {0};
  gt_status status = gt_cache_open(u->path, mode, &u->cache, &error);
  check(u, status, &error);
  if (status == GT_OK) {
    read_parts(u);
    read_collection(u, mode == GT_CACHE_IMMUTABLE);
  }
  gt_cache_close(u->cache);
  u->cache = NULL;
}

typedef enum { READ, IMMUTABLE, REPLAY, LOOKUP, MERGE, COLLECT } way;

// Which way a database is used, by its hash (FNV-1a). What renders many templates takes long, and is taken
// less often.
static way choose(const gt_buffer *bytes) {
  static const way ways[] = {READ,   READ,   READ,   READ,  READ,  IMMUTABLE, IMMUTABLE, REPLAY,
                             REPLAY, REPLAY, LOOKUP, MERGE, MERGE, MERGE,     COLLECT,   COLLECT};
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < bytes->length; i++) hash = (hash ^ (unsigned char)bytes->data[i]) * 16777619u;
  return ways[(hash >> 8) % (sizeof ways / sizeof *ways)];
}

void fuzz_use_database(const char *path) {
  gt_buffer before = {0};
  use u = {.path = path, .device = fuzz_device()};
  good_bytes();
  REQUIRE(gt_buffer_read_file(&before, path), "cannot read %s", path);
  REQUIRE(chmod(path, 0600) == 0, "cannot change the mode of %s", path); // else no code is taken from it
  size_t files = fuzz_count_files();
  way chosen = choose(&before);
  bool all = fuzz_thorough, writing = before.length > 0; // an empty file becomes a cache
  if (all || chosen == READ) read_it(&u, GT_CACHE_READ);
  if (all || chosen == IMMUTABLE) read_it(&u, GT_CACHE_IMMUTABLE);
  if (all || chosen == REPLAY) read_recordings(&u);
  if (all || chosen == LOOKUP) look_up_all(&u);
  fuzz_same(path, before.data, before.length, "reading it");
  REQUIRE(fuzz_count_files() == files, "reading it leaves files behind");
  if (writing && (all || chosen == MERGE)) write_to(&u, &before, files, "merging into it", merge);
  if (writing && (all || chosen == COLLECT)) write_to(&u, &before, files, "collecting its garbage", collect);
  gt_buffer_free(&before);
}
