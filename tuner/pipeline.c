#include "tuner/pipeline.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define DROP_FACTOR 2.0 // candidates this much slower than the best so far are timed only briefly

// An item of the agenda that was rendered ahead.
typedef struct {
  gt_variant variant; // until its trial is done
  gt_error error;     // of rendering it or of reading the cache: told when its turn comes
  gt_trial cached;    // configuration NULL: it is not in the cache
  char source_identity[GT_HASH_SIZE], code_identity[GT_HASH_SIZE]; // of its kernels; empty: unknown
} prospect;

struct gt_pipeline {
  gt_pipeline_options options;
  const gt_fingerprint *device;
  prospect *prospects; // one per item
  size_t at, ahead;    // the item whose turn it is; items that were rendered
  bool begun;          // the device has item `at` already
  double best_us;      // of the candidates so far, 0: none
  gt_pipeline_times times;
};

gt_pipeline *gt_pipeline_open(const gt_pipeline_options *options) {
  gt_pipeline *pipeline = gt_alloc(sizeof *pipeline);
  pipeline->options = *options;
  pipeline->device = gt_workshop_fingerprint(options->workshop);
  pipeline->prospects = gt_alloc((options->agenda->count + 1) * sizeof *pipeline->prospects);
  return pipeline;
}

void gt_pipeline_close(gt_pipeline *pipeline) {
  if (!pipeline) return;
  if (pipeline->begun) gt_workshop_give_up_trial(pipeline->options.workshop);
  for (size_t i = 0; i < pipeline->ahead; i++) {
    gt_variant_free(&pipeline->prospects[i].variant);
    gt_trial_free(&pipeline->prospects[i].cached);
  }
  free(pipeline->prospects);
  free(pipeline);
}

gt_pipeline_times gt_pipeline_time(const gt_pipeline *pipeline) {
  return pipeline->times;
}

static const gt_agenda_item *item_at(const gt_pipeline *pipeline, size_t index) {
  return gt_agenda_get(pipeline->options.agenda, index);
}

// --- what comes up
// -------------------------------------------------------------------------------------------

// What a trial's result depends on: the kernels (by the hash of their source or of their code object), how
// they are launched, and what is asked of them.
static void identify(const gt_variant *variant, bool bound, const char *kernels,
                     char identity[GT_HASH_SIZE]) {
  json_t *json = gt_variant_to_json(variant);
  json_object_del(json, "configuration");
  json_object_del(json, "family");
  json_object_set_new(json, "source_hash", json_string(kernels));
  json_object_set_new(json, "bound", json_boolean(bound));
  char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
  gt_hash(text, strlen(text), identity);
  free(text);
  json_decref(json);
}

// The first item before `index` with these kernels; `index` when there is none.
static size_t find_twin(const gt_pipeline *pipeline, size_t index, const char *identity, bool of_code) {
  for (size_t i = 0; i < index; i++) {
    const prospect *p = &pipeline->prospects[i];
    if (strcmp(of_code ? p->code_identity : p->source_identity, identity) == 0) return i;
  }
  return index;
}

// The stored trial, if it is of the present version of the template.
static gt_status find_cached(const gt_pipeline *pipeline, prospect *p, gt_error *error) {
  gt_status status = gt_cache_get_trial(pipeline->options.cache, pipeline->device, pipeline->options.problem,
                                        p->variant.configuration, &p->cached, error);
  if (status == GT_OK && strcmp(p->cached.source_hash, p->variant.source_hash) != 0)
    gt_trial_free(&p->cached);
  return status == GT_NOT_FOUND ? GT_OK : status;
}

// What crashed or hung before, for another problem, as if that had been a trial of this one.
static gt_status find_quarantined(const gt_pipeline *pipeline, prospect *p, gt_error *error) {
  gt_trial found;
  gt_status status = gt_cache_get_quarantined(pipeline->options.cache, pipeline->device,
                                              p->variant.source_hash, &found, error);
  if (status != GT_OK) return status == GT_NOT_FOUND ? GT_OK : status;
  p->cached = found;
  free(p->cached.configuration);
  p->cached.configuration = gt_strdup(p->variant.configuration);
  p->cached.message = gt_print("in quarantine: %s", found.message);
  free(found.message);
  return GT_OK;
}

static void look_at(gt_pipeline *pipeline, size_t index) {
  const gt_agenda_item *item = item_at(pipeline, index);
  prospect *p = &pipeline->prospects[index];
  gt_status status = gt_render(pipeline->options.generator, item->configuration, pipeline->options.problem,
                               pipeline->device, &p->variant, &p->error);
  if (status == GT_OK && !pipeline->options.retry) status = find_cached(pipeline, p, &p->error);
  if (status == GT_OK && !pipeline->options.retry && !p->cached.configuration)
    status = find_quarantined(pipeline, p, &p->error);
  p->error.status = status; // a cache without the trial left a text there
  if (status != GT_OK) return;
  identify(&p->variant, item->bound, p->variant.source_hash, p->source_identity);
  if (!p->cached.configuration && find_twin(pipeline, index, p->source_identity, false) == index)
    gt_workshop_compile_ahead(pipeline->options.workshop, &p->variant);
}

static void look_ahead(gt_pipeline *pipeline) {
  while (pipeline->ahead < pipeline->options.agenda->count &&
         pipeline->ahead <= pipeline->at + pipeline->options.ahead)
    look_at(pipeline, pipeline->ahead++);
}

// --- the trial whose turn it is
// ------------------------------------------------------------------------------

gt_status gt_pipeline_prepare(gt_pipeline *pipeline, gt_error *error) {
  const gt_pipeline_options *o = &pipeline->options;
  if (pipeline->times.prepared) return GT_OK;
  gt_variant direct = {0};
  const char *standard = o->agenda->standard;
  gt_status status =
      standard ? gt_render(o->generator, standard, o->problem, pipeline->device, &direct, error) : GT_OK;
  if (status == GT_OK)
    status = gt_workshop_problem(o->workshop, o->problem, standard ? &direct : NULL, error);
  gt_variant_free(&direct);
  pipeline->times.prepared = status == GT_OK;
  return status;
}

// Fills a trial from that of an earlier item with the same kernels.
static void copy_trial(const gt_pipeline *pipeline, const gt_variant *variant, size_t from, gt_trial *trial) {
  const gt_trial *original = &pipeline->options.trials[from];
  char *first = gt_trial_duplicate_of(original); // a duplicate itself, from the cache
  const char *message = original->message ? original->message : "";
  *trial = *original;
  trial->configuration = gt_strdup(variant->configuration);
  memcpy(trial->source_hash, variant->source_hash, sizeof trial->source_hash);
  trial->message =
      first ? gt_strdup(message)
            : gt_print(GT_TRIAL_DUPLICATE "%s%s%s", original->configuration, *message ? ": " : "", message);
  trial->samples_us = gt_alloc((original->n_samples + 1) * sizeof *trial->samples_us);
  if (original->n_samples)
    memcpy(trial->samples_us, original->samples_us, original->n_samples * sizeof *trial->samples_us);
  trial->compile_ms = 0;
  free(first);
}

static gt_status begin(gt_pipeline *pipeline, size_t index, gt_error *error) {
  const gt_agenda_item *item = item_at(pipeline, index);
  gt_timing_options timing = *pipeline->options.timing;
  if (item->candidate && pipeline->best_us > 0 && item->configuration != pipeline->options.agenda->standard)
    timing.drop_us = DROP_FACTOR * pipeline->best_us;
  return gt_workshop_begin_trial(pipeline->options.workshop, &pipeline->prospects[index].variant,
                                 !item->bound, &timing, error);
}

// Waits for the code of the item whose turn it is. *twin: an earlier item with the same code object, or
// itself.
static gt_status wait_for_code(gt_pipeline *pipeline, prospect *p, size_t *twin, gt_error *error) {
  const gt_compiled *compiled;
  double start = gt_seconds();
  gt_status status = gt_workshop_code(pipeline->options.workshop, &p->variant, &compiled, error);
  pipeline->times.waited += gt_seconds() - start;
  if (status != GT_OK || compiled->status != GT_OK) return status;
  identify(&p->variant, item_at(pipeline, pipeline->at)->bound, compiled->code_hash, p->code_identity);
  *twin = find_twin(pipeline, pipeline->at, p->code_identity, true);
  return GT_OK;
}

// Does what the item needs that was not done ahead.
static gt_status make(gt_pipeline *pipeline, prospect *p, gt_trial *trial, gt_trial_origin *origin,
                      gt_error *error) {
  size_t at = pipeline->at;
  if (p->error.status != GT_OK) return gt_fail(error, p->error.status, "%s", p->error.text);
  if (p->cached.configuration) {
    *trial = p->cached;
    p->cached = (gt_trial){0};
    *origin = GT_TRIAL_CACHED;
    return GT_OK;
  }
  *origin = GT_TRIAL_FRESH;
  if (!pipeline->begun) {
    size_t twin = find_twin(pipeline, at, p->source_identity, false);
    gt_status status = GT_OK;
    if (twin == at) {
      status = gt_pipeline_prepare(pipeline, error);
      if (pipeline->times.start == 0) pipeline->times.start = gt_seconds();
      if (status == GT_OK) status = wait_for_code(pipeline, p, &twin, error);
    }
    if (status != GT_OK) return status;
    if (twin != at) {
      copy_trial(pipeline, &p->variant, twin, trial);
      *origin = GT_TRIAL_DUPLICATED;
      return GT_OK;
    }
    status = begin(pipeline, at, error);
    if (status != GT_OK) return status;
  }
  look_ahead(pipeline); // while the device works
  pipeline->begun = false;
  return gt_workshop_end_trial(pipeline->options.workshop, trial, error);
}

// Begins the item whose turn it is if it needs the device and nothing has to be waited for.
static void begin_early(gt_pipeline *pipeline) {
  prospect *p = &pipeline->prospects[pipeline->at];
  size_t twin = pipeline->at;
  if (pipeline->at >= pipeline->ahead || p->error.status != GT_OK || p->cached.configuration ||
      find_twin(pipeline, pipeline->at, p->source_identity, false) != pipeline->at ||
      !gt_workshop_is_ready(pipeline->options.workshop, &p->variant))
    return;
  // A failure here shows again, and is told, when the item is made.
  pipeline->begun = wait_for_code(pipeline, p, &twin, NULL) == GT_OK && twin == pipeline->at &&
                    begin(pipeline, pipeline->at, NULL) == GT_OK;
}

gt_status gt_pipeline_next(gt_pipeline *pipeline, gt_trial_origin *origin, gt_error *error) {
  if (pipeline->ahead == pipeline->at) look_ahead(pipeline);
  prospect *p = &pipeline->prospects[pipeline->at];
  gt_trial *trial = &pipeline->options.trials[pipeline->at];
  gt_status status = make(pipeline, p, trial, origin, error);
  if (status != GT_OK) return status;
  gt_variant_free(&p->variant);
  if (item_at(pipeline, pipeline->at)->candidate && gt_trial_is_timed(trial) &&
      (pipeline->best_us == 0 || trial->median_us < pipeline->best_us))
    pipeline->best_us = trial->median_us;
  bool kept = *origin == GT_TRIAL_CACHED || gt_pending_keep(pipeline->options.pending, pipeline->device,
                                                            pipeline->options.problem, trial);
  if (++pipeline->at < pipeline->options.agenda->count && kept) begin_early(pipeline);
  return GT_OK;
}
