// Merging collections: a union in which, of several records of the same thing, the one that order.h puts
// first stays. Merging in any order, at once or one after the other, gives the same.
#ifndef GT_EXCHANGE_MERGE_H
#define GT_EXCHANGE_MERGE_H

#include "exchange/collection.h"

// Two winners of one problem and model with different configurations.
typedef struct {
  const gt_fingerprint *model;
  const char *problem;
  const gt_collected_winner *kept, *dropped;
  bool clear; // their confidence intervals are apart: the one is faster beyond the noise
} gt_conflict;

typedef struct {
  size_t new_trials, replaced_trials;   // replaced: a later trial of the same device and configuration
  size_t new_winners, replaced_winners; // replaced: where the target had one, another is better
  size_t kept_winners;                  // of the target, where another one came and was not better
  size_t new_deterministic, replaced_deterministic; // the best beside winners whose results repeat
  size_t conflicts;
} gt_merge_counts;

// Settles a collection: sorts it and leaves the first record of each key. Calls `conflict` (may be NULL) for
// every pair of a kept and a dropped winner of different configurations.
void gt_merge_settle(gt_collection *collection, void (*conflict)(void *context, const gt_conflict *conflict),
                     void *context, gt_merge_counts *counts);

#endif
