// What a tuning run tries, in order: the stored winner if it is stale, `direct`'s default (what every gain is
// measured against, and what full results are compared with), the bounds (`stream`), the stored winner where it
// is in no search space, then what the search proposes, which depends on what came of the items before.
#ifndef GT_TUNER_AGENDA_H
#define GT_TUNER_AGENDA_H

#include <stdbool.h>

#include "cache/cache.h"
#include "generator/generator.h"
#include "tuner/search.h"
#include "tuner/seeds.h"

typedef struct {
  char *configuration;
  bool bound;     // computes nothing useful: not checked
  bool candidate; // may win; only these are counted
  size_t point;   // in the search; GT_NO_POINT: it is not part of it
} gt_agenda_item;

typedef struct {
  gt_agenda_item *items; // those that gt_agenda_get was asked for; the others are zeroed
  size_t known;          // of them
  size_t count;          // of all items
  size_t space;          // configurations in the families' search spaces
  const char *standard;  // `direct`'s default; NULL when it cannot do the problem
  gt_points points;
  char **texts;  // of the points
  double *costs; // of the points (tuner/cost.h); NULL: other problems' trials tell more, or they are of no use
  gt_seeds seeds;
  gt_search *search;
} gt_agenda;

typedef struct {
  const char *families; // comma list, or NULL for every candidate that claims the problem
  const char *strategy; // NULL: as gt_search_options has it
  size_t budget;        // most candidates; the default and the stored winner are tried in any case
  uint64_t seed;
  bool retry;            // whether trials of the problem that are in the cache are nothing to begin with
  const char *incumbent; // configuration of the stored winner, or NULL
  bool incumbent_first;  // whether that is stale
} gt_agenda_options;

// GT_USAGE for an unknown family or strategy, or a family that only bounds; GT_UNSUPPORTED when none of them
// can do the problem.
gt_status gt_agenda_make(gt_generator *generator, gt_cache *cache, const gt_problem *problem,
                         const gt_fingerprint *device, const gt_agenda_options *options, gt_agenda *agenda,
                         gt_error *error);
void gt_agenda_free(gt_agenda *agenda); // harmless on a zeroed one

// Item `index` < count. The first call for an item asks the search for it, and for all before it: a run may
// look ahead, but an item that is asked for late is chosen by more that is known. The pointer stays valid.
const gt_agenda_item *gt_agenda_get(gt_agenda *agenda, size_t index);
// What came of an item, so that the search can go by it. us: INFINITY when it failed.
void gt_agenda_report(gt_agenda *agenda, size_t index, double us);

#endif
