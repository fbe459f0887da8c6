#include "cli/recording.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cache/cache.h"
#include "cache/t4.h"
#include "cli/model.h"
#include "tuner/history.h"

void gt_recordings_free(gt_recordings *recordings) {
  for (size_t i = 0; i < recordings->count; i++) gt_recording_free(&recordings->list[i]);
  free(recordings->list);
  *recordings = (gt_recordings){0};
}

static gt_recording *add(gt_recordings *recordings, char *name) {
  recordings->list = gt_realloc(recordings->list, (recordings->count + 1) * sizeof *recordings->list);
  gt_recording *new = &recordings->list[recordings->count++];
  *new = (gt_recording){.name = name};
  return new;
}

static void drop_last(gt_recordings *recordings) {
  gt_recording_free(&recordings->list[--recordings->count]);
}

// --- T4
// ----------------------------------------------------------------------------------------------------

typedef struct {
  const char *path;
  gt_recording *recording;
} t4_reading;

static gt_status on_result(void *context, const gt_t4_result *result, gt_error *error) {
  t4_reading *r = context;
  gt_points *points = &r->recording->points;
  if (points->n_families == 0) gt_points_add_family(points, "t4", result->names, result->count);
  const gt_point_family *family = &points->families[0];
  const char **values = gt_alloc((family->n_axes + 1) * sizeof *values);
  bool same = result->count == family->n_axes;
  for (size_t i = 0; same && i < family->n_axes; i++) { // in any order
    values[i] = NULL;
    for (size_t k = 0; k < result->count; k++)
      if (strcmp(result->names[k], family->axes[i].name) == 0) values[i] = result->values[k];
    same = values[i] != NULL;
  }
  size_t point;
  bool is_new;
  gt_error reason = {0};
  gt_status status = same ? gt_points_add(points, values, &point, &is_new, &reason)
                          : gt_fail(&reason, GT_USAGE, "not the parameters of the results before it");
  if (status == GT_OK)
    gt_recording_set(r->recording, point, is_new, result->correct ? result->time : INFINITY);
  else
    gt_fail(error, status, "%s: result %zu: %s", r->path, result->number, reason.text);
  free(values);
  return status;
}

static gt_status read_t4(gt_recordings *recordings, const char *path, gt_error *error) {
  const char *base = strrchr(path, '/');
  t4_reading reading = {path, add(recordings, gt_strdup(base ? base + 1 : path))};
  gt_status status = gt_t4_read(path, on_result, &reading, error);
  if (status != GT_OK) return status;
  gt_points_finish(&reading.recording->points);
  if (gt_recording_has_times(reading.recording)) return GT_OK;
  return gt_fail(error, GT_USAGE, "%s: no result is correct", path);
}

// --- our caches
// --------------------------------------------------------------------------------------------

typedef struct {
  const char *path;
  gt_recordings *recordings;
  gt_generator *generator;
  const gt_recording_options *options;
  char *model, *problem; // of the trials that are being read
  bool readable;         // all of them so far
  gt_problem parsed;
  gt_history *history; // of the model
  size_t first;        // recording of the model
} cache_reading;

static void set_standards(cache_reading *r, gt_recording *recording, const gt_problem *problem) {
  gt_fingerprint device;
  if (!gt_model_parse(r->model, &device) || !gt_model_renders(&device)) return;
  for (size_t f = 0; f < recording->points.n_families; f++) {
    gt_point_family *family = &recording->points.families[f];
    char *standard = NULL;
    if (gt_family_default(r->generator, family->name, problem, &device, &standard, NULL) == GT_OK)
      family->standard = gt_points_find_text(&recording->points, standard);
    free(standard);
  }
}

static void end_problem(cache_reading *r) {
  if (!r->problem) return;
  gt_recording *recording = &r->recordings->list[r->recordings->count - 1];
  gt_points_finish(&recording->points);
  bool enough = r->readable && recording->points.count >= r->options->least;
  if (!enough || !gt_recording_has_times(recording)) {
    r->recordings->left_out++;
    drop_last(r->recordings);
  } else {
    set_standards(r, recording, &r->parsed);
  }
  free(r->problem);
  r->problem = NULL;
}

// What the other problems say is known when all of the model's are read.
static void end_model(cache_reading *r) {
  for (size_t i = r->first; i < r->recordings->count && !r->options->alone; i++) {
    gt_recording *recording = &r->recordings->list[i];
    gt_problem problem;
    gt_history_view view;
    if (gt_problem_parse(recording->name, &problem, NULL) != GT_OK) continue;
    gt_history_look(r->history, &problem, &recording->points, &view);
    recording->expected = view.expected;
    recording->first = gt_alloc((view.n_first + 1) * sizeof *recording->first);
    recording->n_first = view.n_first;
    memcpy(recording->first, view.first, view.n_first * sizeof *view.first);
  }
  gt_history_free(r->history);
  free(r->model);
  r->model = NULL;
}

static gt_status on_trial(void *context, const char *model, const char *problem, const gt_trial *trial,
                          gt_error *error) {
  cache_reading *r = context;
  bool new_model = !r->model || strcmp(r->model, model) != 0;
  if (new_model || !r->problem || strcmp(r->problem, problem) != 0) {
    end_problem(r);
    gt_error reason = {0};
    if (gt_problem_parse(problem, &r->parsed, &reason) != GT_OK)
      return gt_fail(error, GT_CORRUPT, "%s: %s", r->path, reason.text);
    if (new_model) {
      if (r->model) end_model(r);
      r->model = gt_strdup(model);
      r->history = gt_history_new();
      r->first = r->recordings->count;
    }
    r->problem = gt_strdup(problem);
    r->readable = true;
    add(r->recordings, gt_strdup(problem));
  }
  if (!gt_is_of_candidate(r->generator, trial->configuration)) return GT_OK;
  gt_recording *recording = &r->recordings->list[r->recordings->count - 1];
  size_t point;
  bool is_new, ok = gt_trial_is_timed(trial);
  double us = ok ? trial->median_us : INFINITY;
  gt_history_add(r->history, &r->parsed, trial->configuration, us);
  // Trials of several versions of a template have other parameters: no one space.
  r->readable = r->readable &&
                gt_points_add_text(&recording->points, trial->configuration, &point, &is_new, NULL) == GT_OK;
  if (r->readable) gt_recording_set(recording, point, is_new, us);
  return GT_OK;
}

static gt_status read_cache(gt_recordings *recordings, const char *path, gt_generator *generator,
                            const gt_recording_options *options, gt_error *error) {
  gt_cache *cache = NULL;
  cache_reading r = {.path = path, .recordings = recordings, .generator = generator, .options = options};
  gt_status status = gt_cache_open(path, GT_CACHE_READ, &cache, error);
  if (status == GT_OK) status = gt_cache_each_stored_trial(cache, NULL, on_trial, &r, error);
  end_problem(&r);
  if (r.model) end_model(&r);
  gt_cache_close(cache);
  return status;
}

gt_status gt_recordings_read(gt_recordings *recordings, const char *path, gt_generator *generator,
                             const gt_recording_options *options, gt_error *error) {
  static const char magic[] = "SQLite format 3";
  char start[sizeof magic] = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return gt_fail(error, GT_IO, "cannot read %s: %s", path, strerror(errno));
  size_t length = fread(start, 1, sizeof magic, file);
  fclose(file);
  bool is_cache = length == sizeof magic && memcmp(start, magic, sizeof magic) == 0;
  return is_cache ? read_cache(recordings, path, generator, options, error)
                  : read_t4(recordings, path, error);
}
