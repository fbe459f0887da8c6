// Orders of records. What a merge keeps is the first of those with the same key, by an order that is total:
// so it depends on what there is, and not on the order in which it is merged.
#ifndef GT_EXCHANGE_ORDER_H
#define GT_EXCHANGE_ORDER_H

#include "exchange/collection.h"

// As strcmp. Models, and devices with their software.
int gt_order_models(const gt_fingerprint *a, const gt_fingerprint *b);
int gt_order_devices(const gt_fingerprint *a, const gt_fingerprint *b);

// Keys: a trial's is device, problem and configuration; a winner's is model and problem, and whether it is
// the winner or the best beside it whose results repeat (without which, gt_order_winner_problems).
int gt_order_trial_keys(const gt_fingerprint *devices, const gt_collected_trial *a,
                        const gt_collected_trial *b);
int gt_order_winner_problems(const gt_fingerprint *devices, const gt_collected_winner *a,
                             const gt_collected_winner *b);
int gt_order_winner_keys(const gt_fingerprint *devices, const gt_collected_winner *a,
                         const gt_collected_winner *b);

// Keys, then which is to be kept: of trials the latest one; of winners the one whose time is surely the
// least: the end of whose confidence interval lies lowest. What is equal in all that is ordered by the rest
// of what is known. 0 for records that differ in nothing.
int gt_order_trials(const gt_fingerprint *devices, const gt_collected_trial *a, const gt_collected_trial *b);
int gt_order_winners(const gt_fingerprint *devices, const gt_collected_winner *a,
                     const gt_collected_winner *b);
// The same of winners of one problem and model, whichever of the two they are.
int gt_order_winner_merits(const gt_fingerprint *devices, const gt_collected_winner *a,
                           const gt_collected_winner *b);

// The interval, in microseconds, that a winner's time lies in: its median ± two standard deviations of a
// sample. This is wider than the interval of the median itself, by the root of the number of samples, which
// the cache does not keep for winners; it also covers that machines of one model are not quite alike.
typedef struct {
  double low, high;
} gt_interval;
gt_interval gt_winner_interval(const gt_winner *winner);

#endif
