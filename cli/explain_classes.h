// What explain tells of a problem that was tuned for every class of positions (tuner/classes.h): its winner's trials are
// those of the classes.
#ifndef GT_CLI_EXPLAIN_CLASSES_H
#define GT_CLI_EXPLAIN_CLASSES_H

#include <jansson.h>

#include "cache/cache.h"
#include "generator/generator.h"
#include "tuner/positions.h"

// Times in microseconds, of one class.
typedef struct {
  double us, best_us; // of the winner, and of the fastest candidate; 0: there is no such trial
  char *best;         // that candidate, or NULL
} gt_class_trials;

typedef struct {
  gt_class_trials of[GT_CLASSES];
  bool complete; // the winner was timed on every class
} gt_classes_explained;

// Reads the trials of a configuration, and of the fastest, on each class of a problem.
gt_status gt_explain_classes(gt_cache *cache, gt_generator *generator, const gt_fingerprint *model, const gt_problem *problem,
                             const char *configuration, gt_classes_explained *classes, gt_error *error);
void gt_classes_explained_free(gt_classes_explained *classes); // harmless on a zeroed one

// Why the winner is the winner, in one sentence. The caller frees it. Of complete ones.
char *gt_classes_reason(const gt_classes_explained *classes);
void gt_classes_print(const gt_classes_explained *classes); // a table, on standard output
json_t *gt_classes_json(const gt_classes_explained *classes);

#endif
