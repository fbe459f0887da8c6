// Trials as T4 JSON, "open autotuning results schema" 1.0.0, with what Kernel Tuner writes beside it. Times
// are in milliseconds, as Kernel Tuner's are.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/version.h"
#include "exchange/export.h"
#include "exchange/order.h"
#include "generator/configuration.h"

#define ABSENT "none" // the value of a parameter that a family does not have: all results have the same ones

static const char *invalidity(gt_outcome outcome) {
  switch (outcome) {
  case GT_OUTCOME_OK:
    return "correct";
  case GT_OUTCOME_COMPILE_ERROR:
    return "compile";
  case GT_OUTCOME_WRONG_RESULT:
  case GT_OUTCOME_UNSTABLE_RESULT:
  case GT_OUTCOME_OUT_OF_BOUNDS:
    return "correctness";
  case GT_OUTCOME_TIMEOUT:
    return "timeout";
  default:
    return "runtime";
  }
}

static json_t *value_json(const char *value) {
  char *end;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  return *value && !*end && !errno ? json_integer(number) : json_string(value);
}

static json_t *configuration_json(const gt_configuration *configuration, const json_t *names) {
  json_t *json = json_pack("{s:s}", "family", configuration->family);
  const char *name;
  json_t *unused;
  json_object_foreach((json_t *)names, name, unused) {
    const char *value = gt_configuration_get(configuration, name);
    json_object_set_new(json, name, value ? value_json(value) : json_string(ABSENT));
  }
  return json;
}

static void add_measurement(json_t *list, const char *name, json_t *value, const char *unit) {
  json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "name", name, "value", value, "unit", unit));
}

static json_t *result_json(const gt_collected_trial *t, json_t *configuration) {
  const gt_trial *trial = &t->trial;
  json_t *runtimes = json_array(), *measurements = json_array();
  double benchmark = 0;
  for (size_t i = 0; i < trial->n_samples; i++) {
    json_array_append_new(runtimes, json_real(trial->samples_us[i] / 1000));
    benchmark += trial->samples_us[i] / 1000;
  }
  bool ok = gt_trial_is_timed(trial);
  if (ok) {
    add_measurement(measurements, "time", json_real(trial->median_us / 1000), "ms");
    add_measurement(measurements, "spread", json_real(trial->spread_us / 1000), "ms");
  }
  if (trial->registers >= 0) add_measurement(measurements, "registers", json_integer(trial->registers), "");
  if (trial->lds_bytes >= 0) add_measurement(measurements, "lds", json_integer(trial->lds_bytes), "B");
  // The schema's name of a time, then Kernel Tuner's. Those that the cache does not keep are 0.
  json_t *times = json_pack("{s:f, s:f, s:f, s:i, s:i, s:i, s:o}", "compilation_time", trial->compile_ms,
                            "compilation", trial->compile_ms, "benchmark", benchmark, "framework", 0,
                            "search_algorithm", 0, "validation", 0, "runtimes", runtimes);
  return json_pack("{s:s, s:o, s:[s], s:o, s:s, s:i, s:o}", "timestamp", t->tried_at, "configuration",
                   configuration, "objectives", "time", "times", times, "invalidity",
                   trial->outcome == GT_OUTCOME_OK && !ok ? "runtime" : invalidity(trial->outcome),
                   "correctness", (int)ok, "measurements", measurements);
}

// The trials of one problem and model, which follow each other. NULL when none is of a candidate.
static json_t *space_json(const gt_collection *c, const size_t *members, size_t count,
                          gt_generator *generator, size_t *written) {
  json_t *names = json_object(), *results = json_array();
  gt_configuration *parsed = gt_alloc((count + 1) * sizeof *parsed);
  const char *latest = "";
  for (size_t i = 0; i < count; i++) {
    if (gt_configuration_parse(c->trials[members[i]].trial.configuration, &parsed[i], NULL) != GT_OK)
      continue;
    // What computes nothing useful, or only serves as a comparison, is no part of the search space.
    if (!gt_is_of_candidate(generator, parsed[i].family)) {
      gt_configuration_free(&parsed[i]);
      continue;
    }
    for (size_t k = 0; k < parsed[i].count; k++) json_object_set_new(names, parsed[i].names[k], json_null());
  }
  for (size_t i = 0; i < count; i++) {
    const gt_collected_trial *t = &c->trials[members[i]];
    if (!parsed[i].family) continue;
    if (strcmp(t->tried_at, latest) > 0) latest = t->tried_at;
    json_array_append_new(results, result_json(t, configuration_json(&parsed[i], names)));
    gt_configuration_free(&parsed[i]);
  }
  free(parsed);
  json_decref(names);
  *written += json_array_size(results);
  const gt_collected_trial *first = &c->trials[members[0]];
  const gt_fingerprint *device = &c->devices[first->device];
  json_t *metadata = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "platform", device->runtime, "device",
                               device->name, "autotuner", "gathertune", "autotuner_version", GT_VERSION,
                               "timestamp", latest, "timeunit", "milliseconds", "problem", first->problem);
  if (json_array_size(results))
    return json_pack("{s:s, s:o, s:o}", "schema_version", "1.0.0", "metadata", metadata, "results", results);
  json_decref(metadata);
  json_decref(results);
  return NULL;
}

static int order_spaces(const gt_collection *c, const gt_collected_trial *a, const gt_collected_trial *b) {
  int models = gt_order_models(&c->devices[a->device], &c->devices[b->device]);
  return models ? models : strcmp(a->problem, b->problem);
}

// By model and problem; within them as the collection is sorted.
static int by_space(const void *a, const void *b, void *context) {
  const gt_collection *c = context;
  size_t one = *(const size_t *)a, other = *(const size_t *)b;
  int order = order_spaces(c, &c->trials[one], &c->trials[other]);
  return order ? order : one < other ? -1 : one > other;
}

static gt_status write_json(const json_t *json, const gt_export_options *options, gt_error *error) {
  gt_buffer text = {0};
  char *dump = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  gt_buffer_print(&text, "%s\n", dump);
  free(dump);
  gt_status status = gt_export_text(&text, options, error);
  gt_buffer_free(&text);
  return status;
}

// In a folder: a name that says something, and that no other problem or model has.
static gt_status write_into(const char *folder, const gt_collection *c, const gt_collected_trial *t,
                            const json_t *json, gt_error *error) {
  const gt_fingerprint *device = &c->devices[t->device];
  char *key = gt_print("%s / %s / %s / %d\n%s", device->backend, device->name, device->arch,
                       device->compute_units, t->problem),
       hash[GT_HASH_SIZE];
  gt_hash(key, strlen(key), hash);
  char *path = gt_print("%s/%.*s-%.8s.json", folder, (int)strcspn(t->problem, ":"), t->problem, hash);
  gt_status status = write_json(json, &(gt_export_options){.path = path}, error);
  free(path);
  free(key);
  return status;
}

gt_status gt_export_t4(gt_collection *c, const gt_export_options *options, gt_export_counts *counts,
                       gt_error *error) {
  gt_collection_sort(c);
  gt_status status = GT_OK;
  size_t *members = gt_alloc((c->n_trials + 1) * sizeof *members);
  for (size_t i = 0; i < c->n_trials; i++) members[i] = i;
  // Devices of one model with other software stand apart in the order of trials.
  if (c->n_trials) qsort_r(members, c->n_trials, sizeof *members, by_space, c);
  bool several =
      c->n_trials && order_spaces(c, &c->trials[members[0]], &c->trials[members[c->n_trials - 1]]) != 0;
  bool folder = several && options->path && strcmp(options->path, "-") != 0;
  if (several && !folder)
    status = gt_fail(error, GT_USAGE,
                     "a T4 file is of one problem and model, and there are several: name a folder with "
                     "--output, or choose with --suite and --model");
  if (status == GT_OK && folder) status = gt_export_folder(options->path, error);
  for (size_t first = 0, end; first < c->n_trials && status == GT_OK; first = end) {
    const gt_collected_trial *trial = &c->trials[members[first]];
    for (end = first + 1; end < c->n_trials; end++)
      if (order_spaces(c, trial, &c->trials[members[end]]) != 0) break;
    json_t *json = space_json(c, members + first, end - first, options->generator, &counts->trials);
    if (!json) continue;
    counts->files++;
    status = folder ? write_into(options->path, c, trial, json, error) : write_json(json, options, error);
    json_decref(json);
  }
  if (status == GT_OK && counts->files == 0)
    status = gt_fail(error, GT_NOT_FOUND, "nothing to export: no trial is of a family that can win");
  free(members);
  return status;
}
