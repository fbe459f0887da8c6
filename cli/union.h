// What import and merge share: taking in collections, and telling what came of it.
#ifndef GT_CLI_UNION_H
#define GT_CLI_UNION_H

#include "cli/selection.h"

typedef struct {
  const char *command; // "merge"
  const char *into;    // the cache; NULL: the default one
  bool dry_run, json;
  gt_selection_options selection; // made and freed by gt_union_run
  char **sources; // files
  int n_sources;
  // Adds what a file holds.
  gt_status (*read)(gt_collection *collection, const char *path, const gt_selection *selection, int from,
                    gt_error *error);
} gt_union;

// Takes what is selected of the sources into the cache, as one change. Returns the program's exit code.
int gt_union_run(gt_union *u);

#endif
