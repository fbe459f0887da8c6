#include "cli/recheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/trial.h"
#include "tuner/recheck.h"

// "+4.2 %"
static gt_short change(double then, double now) {
  gt_short result = {"-"};
  if (then > 0 && now > 0) snprintf(result.text, sizeof result.text, "%+.1f %%", 100 * (now / then - 1));
  return result;
}

// A sensor's number, or "-".
static gt_short reading(int value) {
  gt_short result = {"-"};
  if (value > 0) snprintf(result.text, sizeof result.text, "%d", value);
  return result;
}

void gt_recheck_cells(gt_table *table, const gt_recheck *r) {
  const gt_trial *now = &r->trial;
  gt_drift drift = gt_recheck_drift(r);
  gt_table_cell(table, "%s", gt_microseconds(r->stored_us).text);
  gt_table_cell(table, "%s", gt_microseconds(now->median_us).text);
  gt_table_cell(table, "%s", change(r->stored_us, now->median_us).text);
  gt_table_cell(table, "%s", gt_microseconds(r->stored_default_us).text);
  gt_table_cell(table, "%s", gt_microseconds(r->default_us).text);
  gt_table_cell(table, "%s", gt_ratio(r->stored_default_us, r->stored_us, "").text);
  gt_table_cell(table, "%s", gt_ratio(r->default_us, now->median_us, "").text);
  gt_table_cell(table, "%s", reading(now->readings.temperature_c).text);
  gt_table_cell(table, "%s", reading(now->readings.clock_mhz).text);
  gt_table_cell(table, "%s%s",
                drift == GT_DRIFT_FAILED ? gt_outcome_name(now->outcome) : gt_drift_name(drift),
                now->noisy ? ", noisy" : "");
}

json_t *gt_recheck_json(const gt_recheck *r) {
  const gt_trial *now = &r->trial;
  double drift = r->stored_us > 0 && now->median_us > 0 ? now->median_us / r->stored_us - 1 : 0;
  json_t *samples = json_array();
  for (size_t i = 0; i < now->n_samples; i++) json_array_append_new(samples, json_real(now->samples_us[i]));
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:b, s:o, s:o}", "configuration",
                   now->configuration, "outcome", gt_outcome_name(now->outcome), "message",
                   now->message ? now->message : "", "verdict", gt_drift_name(gt_recheck_drift(r)),
                   "stored_us", gt_json_number(r->stored_us), "median_us", gt_json_number(now->median_us),
                   "stored_default_us", gt_json_number(r->stored_default_us), "default_us",
                   gt_json_number(r->default_us), "drift",
                   now->median_us > 0 ? json_real(drift) : json_null(), "spread_us", now->spread_us, "noisy",
                   now->noisy, "readings", gt_readings_json(&now->readings), "samples_us", samples);
}

// --- which problems
// --------------------------------------------------------------------------------------------

typedef struct {
  gt_suite *suite;
  char model[320];
} winners;

static void add_winner(void *context, const gt_winner *winner) {
  winners *all = context;
  gt_problem problem;
  if (strcmp(winner->device, all->model) == 0 && gt_problem_parse(winner->problem, &problem, NULL) == GT_OK)
    gt_suite_add(all->suite, &problem, 0);
}

static gt_status find_winners(gt_cache *cache, const gt_fingerprint *device, gt_suite *suite,
                              gt_error *error) {
  winners all = {.suite = suite};
  gt_model_print(device, all.model);
  gt_status status = gt_cache_each_winner(cache, add_winner, &all, error);
  if (status == GT_OK && !suite->count)
    status = gt_fail(error, GT_NOT_FOUND, "%s: no winner of %s to recheck", gt_cache_path(cache), all.model);
  return status;
}

// --- the run
// ---------------------------------------------------------------------------------------------------

static void show(const char *problem, const gt_recheck *recheck, bool as_json, gt_table *table,
                 json_t *list) {
  if (as_json) {
    json_t *json = gt_recheck_json(recheck);
    json_object_set_new(json, "problem", json_string(problem));
    json_array_append_new(list, json);
    return;
  }
  gt_table_cell(table, "%s", problem);
  gt_recheck_cells(table, recheck);
  gt_table_cell(table, "%s", recheck->trial.configuration);
}

gt_status gt_recheck_all(gt_generator *generator, gt_workshop *workshop, gt_cache *cache,
                         const gt_suite *problems, const gt_timing_options *timing, bool quiet,
                         bool as_json) {
  gt_suite all = {0};
  gt_error error = {0};
  gt_status worst = GT_OK;
  gt_table *table =
      gt_table_new("problem|" GT_RECHECK_HEADINGS "|configuration", "l" GT_RECHECK_ALIGNMENT "l");
  json_t *list = json_array();
  for (size_t i = 0; i < problems->count; i++) gt_suite_add(&all, &problems->problems[i], 0);
  if (!all.count) worst = find_winners(cache, gt_workshop_fingerprint(workshop), &all, &error);
  if (worst != GT_OK) gt_complain_error(&error);
  for (size_t i = 0; i < all.count && worst != GT_INTERRUPTED && worst != GT_IO; i++) {
    char text[GT_PROBLEM_TEXT];
    gt_recheck recheck;
    gt_problem_print(&all.problems[i], text);
    if (gt_problem_in_elements(&all.problems[i]) == 0) continue; // has no kernel to time
    if (!quiet) fprintf(stderr, "rechecking %zu of %zu: %s\n", i + 1, all.count, text);
    gt_status status =
        gt_recheck_winner(generator, workshop, cache, &all.problems[i], timing, &recheck, &error);
    if (status == GT_OK) show(text, &recheck, as_json, table, list);
    if (status == GT_NOT_FOUND) {
      char model[320];
      gt_model_print(gt_workshop_fingerprint(workshop), model);
      status = gt_fail(&error, GT_NOT_FOUND, "no winner of %s to recheck in %s", model, gt_cache_path(cache));
    }
    if (status == GT_OK && recheck.trial.outcome != GT_OUTCOME_OK) {
      status = gt_fail(&error, GT_FAILED,
                       "the winner %s is not right any more: %s: %s; tune it again with --retry",
                       recheck.trial.configuration, gt_outcome_name(recheck.trial.outcome),
                       recheck.trial.message ? recheck.trial.message : "");
    }
    if (status != GT_OK) gt_complain("%s: %s", text, error.text);
    if (status != GT_OK) worst = status;
    gt_trial_free(&recheck.trial);
  }
  if (as_json)
    gt_print_json(json_pack("{s:s, s:O}", "device", gt_workshop_device(workshop), "rechecks", list));
  else if (gt_table_rows(table))
    gt_table_print(table, stdout);
  json_decref(list);
  gt_table_free(table);
  gt_suite_free(&all);
  return worst;
}
