#include "cli/leave_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/command.h"
#include "cli/model.h"
#include "cli/table.h"
#include "generator/default.h"

typedef struct {
  gt_problem problem;
  char text[GT_PROBLEM_TEXT];
  char *configuration, *from;                // chosen, and the problem that it is from; NULL: nothing alike
  double best_us, us, default_us, plain_us; // 0: not among the trials
  double predicted;                          // regret
} row;

typedef struct {
  row *list;
  size_t count;
} rows;

static void on_tuned(void *context, const char *text, double median_us, double stream_us) {
  rows *all = context;
  gt_problem problem;
  (void)median_us, (void)stream_us;
  if (gt_problem_parse(text, &problem, NULL) != GT_OK) return;
  all->list = gt_realloc(all->list, (all->count + 1) * sizeof *all->list);
  row *new = &all->list[all->count++];
  *new = (row){.problem = problem};
  gt_problem_print(&problem, new->text);
}

// What is looked for among a problem's trials.
typedef struct {
  row *of;
  gt_generator *generator;
  char *standard, *direct; // configurations
} wanted;

static void on_trial(void *context, const gt_trial *trial) {
  wanted *w = context;
  if (trial->outcome != GT_OUTCOME_OK || !(trial->median_us > 0)) return;
  char family[64];
  gt_family_role role;
  const char *description;
  snprintf(family, sizeof family, "%.*s", (int)strcspn(trial->configuration, ":"), trial->configuration);
  if (gt_family_describe(w->generator, family, &role, &description, NULL) != GT_OK ||
      role != GT_ROLE_CANDIDATE)
    return;
  double us = trial->median_us;
  if (w->of->best_us == 0 || us < w->of->best_us) w->of->best_us = us;
  if (w->of->configuration && strcmp(trial->configuration, w->of->configuration) == 0) w->of->us = us;
  if (w->standard && strcmp(trial->configuration, w->standard) == 0) w->of->default_us = us;
  if (w->direct && strcmp(trial->configuration, w->direct) == 0) w->of->plain_us = us;
}

static gt_status rate(gt_finder *finder, const gt_layer *layer, const gt_fingerprint *device, row *r,
                      gt_error *error) {
  wanted w = {.of = r};
  gt_found found;
  gt_status status = gt_finder_generator(finder, &w.generator, error);
  if (status != GT_OK) return status;
  status = gt_find_alike(finder, &r->problem, &(gt_find_options){0}, true, &found, error);
  if (status == GT_OK) {
    r->configuration = gt_strdup(found.variant.configuration);
    r->from = gt_strdup(found.winner.problem);
    r->predicted = found.regret;
    gt_found_free(&found);
  }
  if (status == GT_OK || status == GT_NOT_FOUND)
    status = gt_default_configuration(w.generator, &r->problem, device, &w.standard, error);
  if (status == GT_OK)
    status = gt_family_default(w.generator, gt_plain_family(&r->problem), &r->problem, device, &w.direct, error);
  if (status == GT_OK) status = gt_cache_each_trial(layer->cache, device, &r->problem, on_trial, &w, error);
  free(w.standard);
  free(w.direct);
  return status;
}

// --- the result
// -------------------------------------------------------------------------------------------

// How much slower than the best, in percent; NAN when it was not timed.
static double slower(double us, double best_us) {
  return us > 0 && best_us > 0 ? 100 * (us / best_us - 1) : NAN;
}

static int by_value(const void *a, const void *b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

typedef struct {
  size_t count;                       // timed
  double median, worst_decile, worst; // NAN when none was
} summary;

static summary summarize(const rows *all, double (*value)(const row *)) {
  double *values = gt_alloc((all->count + 1) * sizeof *values);
  summary s = {0, NAN, NAN, NAN};
  for (size_t i = 0; i < all->count; i++) {
    double v = value(&all->list[i]);
    if (!isnan(v)) values[s.count++] = v;
  }
  qsort(values, s.count, sizeof *values, by_value);
  if (s.count) {
    s.median = values[s.count / 2];
    s.worst_decile = values[s.count * 9 / 10];
    s.worst = values[s.count - 1];
  }
  free(values);
  return s;
}

static double of_near(const row *r) {
  return slower(r->us, r->best_us);
}
static double of_default(const row *r) {
  return slower(r->default_us, r->best_us);
}
static double of_plain(const row *r) {
  return slower(r->plain_us, r->best_us);
}

static const struct {
  const char *name;
  double (*value)(const row *);
} kinds[] = {{"near", of_near}, {"default", of_default}, {"plain", of_plain}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static json_t *number(double value) {
  return isnan(value) ? json_null() : json_real(value);
}

static void print_json(const rows *all) {
  json_t *list = json_array(), *summaries = json_object();
  for (size_t i = 0; i < all->count; i++) {
    const row *r = &all->list[i];
    json_array_append_new(
        list, json_pack("{s:s, s:s?, s:s?, s:f, s:o, s:o, s:o, s:o}", "problem", r->text, "configuration",
                        r->configuration, "from", r->from, "best_us", r->best_us, "predicted_percent",
                        r->configuration ? json_real(100 * expm1(r->predicted)) : json_null(), "near_percent",
                        number(of_near(r)), "default_percent", number(of_default(r)), "plain_percent",
                        number(of_plain(r))));
  }
  for (size_t k = 0; k < N_KINDS; k++) {
    summary s = summarize(all, kinds[k].value);
    json_object_set_new(summaries, kinds[k].name,
                        json_pack("{s:I, s:o, s:o, s:o}", "timed", (json_int_t)s.count, "median",
                                  number(s.median), "worst_decile", number(s.worst_decile), "worst",
                                  number(s.worst)));
  }
  gt_print_json(json_pack("{s:o, s:o}", "problems", list, "percent_slower_than_best", summaries));
}

static const char *percent(double value, char text[32]) {
  snprintf(text, 32, isnan(value) ? "not timed" : "%.1f", value);
  return text;
}

static void print_text(const rows *all) {
  gt_table *table =
      gt_table_new("problem|best µs|near %|default %|plain %|configuration by prediction", "lrrrrl");
  for (size_t i = 0; i < all->count; i++) {
    const row *r = &all->list[i];
    char near[32], standard[32], direct[32];
    gt_table_cell(table, "%s", r->text);
    gt_table_cell(table, "%s", gt_microseconds(r->best_us).text);
    gt_table_cell(table, "%s", r->configuration ? percent(of_near(r), near) : "-");
    gt_table_cell(table, "%s", percent(of_default(r), standard));
    gt_table_cell(table, "%s", percent(of_plain(r), direct));
    gt_table_cell(table, "%s", r->configuration ? r->configuration : "nothing alike was tuned");
  }
  gt_table_print(table, stdout);
  gt_table_free(table);
  printf("\npercent slower than the fastest trial:\n");
  for (size_t k = 0; k < N_KINDS; k++) {
    summary s = summarize(all, kinds[k].value);
    if (s.count == 0) {
      printf("%-8s none of %zu was timed\n", kinds[k].name, all->count);
      continue;
    }
    printf("%-8s median %.1f, worst decile from %.1f, worst %.1f (%zu of %zu were timed)\n", kinds[k].name,
           s.median, s.worst_decile, s.worst, s.count, all->count);
  }
}

// The cache's models, for who asked for one that it has not.
static void on_model(void *context, const char *text) {
  gt_buffer *models = context;
  gt_buffer_print(models, "%s\"%s\"", models->length ? ", " : "", text);
}

static gt_status fail_none(const gt_layer *layer, const gt_fingerprint *device, gt_error *error) {
  gt_buffer models = {0};
  gt_status status = layer && layer->cache ? gt_model_each(layer->cache, on_model, &models, error) : GT_OK;
  if (status == GT_OK && models.length)
    status = gt_fail(error, GT_NOT_FOUND, "nothing is tuned on %s; --model names one of %s", device->name,
                     models.data);
  else if (status == GT_OK)
    status = gt_fail(error, GT_NOT_FOUND, "the cache has no problem that was tuned on %s", device->name);
  gt_buffer_free(&models);
  return status;
}

gt_status gt_leave_one_out(gt_finder *finder, const gt_layers *layers, const gt_fingerprint *device,
                           bool json, gt_error *error) {
  rows all = {0};
  gt_status status = GT_OK;
  const gt_layer *layer = layers->count ? &layers->list[layers->count - 1] : NULL;
  if (layer && layer->cache) status = gt_cache_each_tuned(layer->cache, device, on_tuned, &all, error);
  if (status == GT_OK && all.count == 0)
    status = fail_none(layer, device, error);
  for (size_t i = 0; i < all.count && status == GT_OK; i++)
    status = rate(finder, layer, device, &all.list[i], error);
  if (status == GT_OK) (json ? print_json : print_text)(&all);
  for (size_t i = 0; i < all.count; i++) {
    free(all.list[i].configuration);
    free(all.list[i].from);
  }
  free(all.list);
  return status;
}
