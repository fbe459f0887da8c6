// Where a search begins: what the cache tells before anything is tried.
#ifndef GT_TUNER_SEEDS_H
#define GT_TUNER_SEEDS_H

#include "cache/cache.h"
#include "tuner/history.h"

typedef struct {
  size_t *first; // points, for gt_search_options
  size_t n_first;
  gt_history_view view; // of the trials of other problems; its `first` is part of the list above
} gt_seeds;

// The trials of all problems in the cache, on the device's model. The caller frees the history.
gt_status gt_seeds_history(gt_cache *cache, const gt_fingerprint *device, gt_history **history, gt_error *error);

// The stored winner; this problem's own trials on this very device, the fastest first, failed ones last, so
// that a run goes on from what an earlier one measured (left out when `retry`); the winners of the nearest
// problems on the same GPU model. `incumbent`: configuration of the stored winner, or NULL.
gt_status gt_seeds_find(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem, bool retry,
                        const char *incumbent, const gt_history *history, const gt_points *points,
                        gt_seeds *seeds, gt_error *error);
// Where no trials tell what to expect: takes costs (tuner/cost.h, NaN: unknown) for it, and adds the families'
// defaults, the cheapest first, and the cheapest other configurations, GT_SEEDS_CHEAPEST of different costs. Does nothing
// when no cost is known.
#define GT_SEEDS_CHEAPEST 2
void gt_seeds_add_costs(const gt_points *points, const double *costs, gt_seeds *seeds);
void gt_seeds_free(gt_seeds *seeds); // harmless on zeroed ones

#endif
