#include "cli/stale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/table.h"
#include "cli/trial.h"
#include "tuner/stale.h"

// --- checks that were made
// -------------------------------------------------------------------------------------------

static void keep(void *context, const gt_stale_checked *checked) {
  gt_kept_checks *checks = context;
  checks->list = gt_realloc(checks->list, (checks->count + 1) * sizeof *checks->list);
  gt_kept_check *new = &checks->list[checks->count++];
  *new = (gt_kept_check){*checked->check, gt_strdup(checked->model), gt_strdup(checked->driver),
                         gt_strdup(checked->compiler)};
  new->check.configuration = gt_strdup(checked->check->configuration);
  new->check.message = gt_strdup(checked->check->message);
  new->check.checked_at = gt_strdup(checked->check->checked_at);
}

gt_status gt_kept_checks_read(gt_kept_checks *checks, gt_cache *cache, gt_error *error) {
  return gt_cache_each_stale_check(cache, keep, checks, error);
}

void gt_kept_checks_free(gt_kept_checks *checks) {
  for (size_t i = 0; i < checks->count; i++) {
    gt_stale_check_free(&checks->list[i].check);
    free(checks->list[i].model);
    free(checks->list[i].driver);
    free(checks->list[i].compiler);
  }
  free(checks->list);
  *checks = (gt_kept_checks){0};
}

const gt_kept_check *gt_kept_checks_find(const gt_kept_checks *checks, const char *model,
                                         const char *configuration, const char *source_hash, const char *compiler) {
  const gt_kept_check *latest = NULL;
  for (size_t i = 0; i < checks->count; i++) {
    const gt_kept_check *one = &checks->list[i];
    if (strcmp(one->model, model) == 0 && strcmp(one->check.configuration, configuration) == 0 &&
        strcmp(one->check.source_hash, source_hash) == 0 &&
        (!compiler || !*compiler || strcmp(one->compiler, compiler) == 0) &&
        (!latest || strcmp(one->check.checked_at, latest->check.checked_at) >= 0))
      latest = one;
  }
  return latest;
}

json_t *gt_kept_check_json(const gt_kept_check *check) {
  if (!check) return json_null();
  return json_pack("{s:s, s:s, s:s, s:s, s:s}", "outcome", gt_outcome_name(check->check.outcome), "message",
                   check->check.message, "checked_at", check->check.checked_at, "compiler", check->compiler,
                   "driver", check->driver);
}

char *gt_kept_check_text(const gt_kept_check *check) {
  if (!check) return gt_strdup("not yet");
  const char *message = check->check.message;
  return gt_print("%s %s, compiler %s%s%s", gt_outcome_name(check->check.outcome), check->check.checked_at,
                  check->compiler, *message ? ": " : "", message);
}

// --- the list
// ---------------------------------------------------------------------------------------------------------

typedef struct {
  gt_generator *generator;
  const gt_fingerprint *device; // NULL: none
  char model[320];              // its
  gt_kept_checks checks;
  gt_table *table;
  json_t *list; // NULL: the table is wanted
  size_t count, failed;
} stale_list;

// How a winner is stale; NULL when it is not.
static const char *how_stale(const stale_list *s, const gt_winner *winner, char source_hash[GT_HASH_SIZE]) {
  gt_fingerprint model;
  gt_problem problem;
  gt_variant now = {0};
  gt_fit fit = GT_FIT_REFUSED; // also of what this version cannot read
  gt_error reason;
  bool here = s->device && strcmp(winner->device, s->model) == 0;
  if (gt_model_parse(winner->device, &model) && gt_problem_parse(winner->problem, &problem, NULL) == GT_OK)
    gt_fit_of(s->generator, here ? s->device : &model, &problem, winner->variant.configuration,
              winner->variant.source_hash, &fit, &now, &reason);
  memcpy(source_hash, now.source_hash, GT_HASH_SIZE);
  gt_variant_free(&now);
  if (fit == GT_FIT_REFUSED) return "refused";
  bool compiler = here && gt_staleness_of_compiler(s->device, winner);
  if (fit == GT_FIT_STALE) return compiler ? "template, compiler" : "template";
  return compiler ? "compiler" : NULL;
}

static void on_winner(void *context, const gt_winner *winner) {
  stale_list *s = context;
  char source_hash[GT_HASH_SIZE];
  const char *how = how_stale(s, winner, source_hash);
  if (!how) return;
  bool here = s->device && strcmp(winner->device, s->model) == 0;
  const gt_kept_check *check = gt_kept_checks_find(&s->checks, winner->device, winner->variant.configuration,
                                                   source_hash, here ? s->device->compiler : NULL);
  s->count++;
  s->failed += check && check->check.outcome != GT_OUTCOME_OK;
  if (s->list) {
    json_t *json = gt_winner_json(winner);
    json_object_set_new(json, "stale", json_string(how));
    json_object_set_new(json, "check", gt_kept_check_json(check));
    json_array_append_new(s->list, json);
    return;
  }
  char *text = gt_kept_check_text(check);
  gt_table_cell(s->table, "%s", winner->device);
  gt_table_cell(s->table, "%s", winner->problem);
  gt_table_cell(s->table, "%s", gt_microseconds(winner->median_us).text);
  gt_table_cell(s->table, "%s", winner->variant.configuration);
  gt_table_cell(s->table, "%s", winner->tuned_at);
  gt_table_cell(s->table, "%s", how);
  gt_table_cell(s->table, "%s", text);
  free(text);
}

static void print(const stale_list *s, const char *path, const gt_cache_counts *counts) {
  if (s->list) {
    gt_print_json(json_pack("{s:s, s:I, s:I, s:I, s:I, s:O}", "cache", path, "models",
                            (json_int_t)counts->models, "devices", (json_int_t)counts->devices, "problems",
                            (json_int_t)counts->problems, "trials", (json_int_t)counts->trials, "winners",
                            s->list));
    return;
  }
  if (s->count) {
    gt_table_print(s->table, stdout);
    putchar('\n');
  }
  if (!s->count) {
    printf("none of %s is stale\n", gt_counted((uint64_t)counts->winners, "winner").text);
    return;
  }
  printf("%zu of %s stale: a template%s has changed since", s->count,
         gt_counted((uint64_t)counts->winners, "winner").text, s->device ? " or the compiler" : "");
  if (s->failed) printf("; %zu failed the check since and %s passed over", s->failed, s->failed == 1 ? "is" : "are");
  printf("\n");
}

gt_status gt_list_stale(gt_cache *cache, const char *path, const gt_fingerprint *device, bool as_json,
                        gt_error *error) {
  stale_list s = {.device = device, .list = as_json ? json_array() : NULL};
  gt_cache_counts counts = {0};
  gt_status status = gt_open_generator(&s.generator, error);
  s.table = gt_table_new("model|problem|best µs|configuration|tuned|stale|check", "llrllll");
  if (device) gt_model_print(device, s.model);
  if (status == GT_OK && cache) status = gt_cache_count(cache, &counts, error);
  if (status == GT_OK && cache) status = gt_kept_checks_read(&s.checks, cache, error);
  if (status == GT_OK && cache) status = gt_cache_each_winner(cache, on_winner, &s, error);
  if (status == GT_OK && !cache && !as_json)
    printf("nothing is tuned yet: there is no file %s\n", path);
  else if (status == GT_OK)
    print(&s, path, &counts);
  gt_table_free(s.table);
  json_decref(s.list);
  gt_kept_checks_free(&s.checks);
  gt_generator_close(s.generator);
  return status;
}
