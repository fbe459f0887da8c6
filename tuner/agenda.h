// What a tuning run tries, in order: `direct`'s default (what every gain is measured against, and what full
// results are compared with), the bounds (`stream`), the stored winner, then the search spaces of the
// families.
#ifndef GT_TUNER_AGENDA_H
#define GT_TUNER_AGENDA_H

#include <stdbool.h>

#include "generator/generator.h"

typedef struct {
  char *configuration;
  bool bound;     // computes nothing useful: not checked
  bool candidate; // may win; only these are counted
} gt_agenda_item;

typedef struct {
  gt_agenda_item *items;
  size_t count;
  size_t space;         // configurations in the families' search spaces
  const char *standard; // `direct`'s default; NULL when it cannot do the problem
} gt_agenda;

// `families`: comma list, or NULL for every candidate that claims the problem. `incumbent`: configuration of
// the stored winner, or NULL. GT_USAGE for an unknown family or one that only bounds; GT_UNSUPPORTED when
// none of them can do the problem.
gt_status gt_agenda_make(gt_generator *generator, const gt_problem *problem, const gt_fingerprint *device,
                         const char *families, size_t budget, uint64_t seed, const char *incumbent,
                         gt_agenda *agenda, gt_error *error);
void gt_agenda_free(gt_agenda *agenda); // harmless on a zeroed one

#endif
