#include "cli/explain_classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/command.h"
#include "cli/table.h"

static const char *class_name(int k) { return gt_grid_class_name((gt_grid_class)(GT_FIRST_CLASS + k)); }

typedef struct {
  gt_generator *generator;
  const char *configuration;
  gt_class_trials *class;
} reading;

static void on_trial(void *context, const gt_trial *trial) {
  reading *r = context;
  // A family that is tried on request only may have won.
  bool won = strcmp(trial->configuration, r->configuration) == 0;
  if (!gt_trial_is_timed(trial) || !(won || gt_is_of_candidate(r->generator, trial->configuration))) return;
  if (won) r->class->us = trial->median_us;
  if (r->class->best && trial->median_us >= r->class->best_us) return;
  free(r->class->best);
  r->class->best = gt_strdup(trial->configuration);
  r->class->best_us = trial->median_us;
}

gt_status gt_explain_classes(gt_cache *cache, gt_generator *generator, const gt_fingerprint *model, const gt_problem *problem,
                             const char *configuration, gt_classes_explained *classes, gt_error *error) {
  gt_status status = GT_OK;
  *classes = (gt_classes_explained){.complete = true};
  for (int k = 0; k < GT_CLASSES && status == GT_OK; k++) {
    gt_problem one = gt_problem_of_class(problem, k);
    reading r = {generator, configuration, &classes->of[k]};
    status = gt_cache_each_trial(cache, model, &one, on_trial, &r, error);
    classes->complete = classes->complete && classes->of[k].us > 0;
  }
  return status;
}

void gt_classes_explained_free(gt_classes_explained *classes) {
  for (int k = 0; k < GT_CLASSES; k++) free(classes->of[k].best);
  *classes = (gt_classes_explained){.complete = false};
}

char *gt_classes_reason(const gt_classes_explained *classes) {
  int worst = 0;
  for (int k = 1; k < GT_CLASSES; k++)
    if (classes->of[k].us * classes->of[worst].best_us > classes->of[worst].us * classes->of[k].best_us) worst = k;
  return gt_print("of the winners of the classes of positions and what was as fast there, all timed on every class, its largest regret "
                  "is the least: %s times the fastest, on %s positions",
                  gt_ratio(classes->of[worst].us, classes->of[worst].best_us, "").text, class_name(worst));
}

void gt_classes_print(const gt_classes_explained *classes) {
  gt_table *table = gt_table_new("positions|µs|fastest µs|to the fastest|fastest", "lrrrl");
  for (int k = 0; k < GT_CLASSES; k++) {
    const gt_class_trials *class = &classes->of[k];
    gt_table_cell(table, "%s", class_name(k));
    gt_table_cell(table, "%s", gt_microseconds(class->us).text);
    gt_table_cell(table, "%s", gt_microseconds(class->best_us).text);
    gt_table_cell(table, "%s", gt_ratio(class->us, class->best_us, "").text);
    gt_table_cell(table, "%s", class->best);
  }
  putchar('\n');
  gt_table_print(table, stdout);
  gt_table_free(table);
}

json_t *gt_classes_json(const gt_classes_explained *classes) {
  json_t *list = json_array();
  for (int k = 0; k < GT_CLASSES; k++) {
    const gt_class_trials *class = &classes->of[k];
    json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:s?}", "positions", class_name(k), "median_us",
                                          gt_json_number(class->us), "best_us", gt_json_number(class->best_us), "best",
                                          class->best));
  }
  return list;
}
