#include "exchange/merge.h"

#include <stdlib.h>
#include <string.h>

#include "exchange/order.h"

static void settle_trials(gt_collection *c, gt_merge_counts *counts) {
  size_t kept = 0;
  for (size_t first = 0, end; first < c->n_trials; first = end) {
    gt_collected_trial *best = &c->trials[first];
    bool of_target = best->from == GT_FROM_TARGET, had = of_target;
    for (end = first + 1; end < c->n_trials; end++) {
      gt_collected_trial *other = &c->trials[end];
      if (gt_order_trial_keys(c->devices, best, other) != 0) break;
      if (other->from == GT_FROM_TARGET) {
        had = true;
        // The same record as the target has need not be written.
        if (gt_order_trials(c->devices, best, other) == 0) of_target = true;
      }
      free(other->problem);
      free(other->host);
      free(other->tried_at);
      gt_trial_free(&other->trial);
    }
    if (of_target) best->from = GT_FROM_TARGET;
    counts->new_trials += !had;
    counts->replaced_trials += had && !of_target;
    c->trials[kept++] = *best;
  }
  c->n_trials = kept;
}

static void tell(const gt_collection *c, const gt_collected_winner *kept, const gt_collected_winner *dropped,
                 void (*conflict)(void *context, const gt_conflict *conflict), void *context) {
  gt_conflict found = {&c->devices[kept->device], kept->winner.problem, kept, dropped,
                       gt_winner_interval(&kept->winner).high < gt_winner_interval(&dropped->winner).low};
  if (conflict) conflict(context, &found);
}

static void settle_winners(gt_collection *c, void (*conflict)(void *context, const gt_conflict *conflict),
                           void *context, gt_merge_counts *counts) {
  size_t kept = 0;
  for (size_t first = 0, end; first < c->n_winners; first = end) {
    gt_collected_winner *best = &c->winners[first];
    bool of_target = best->from == GT_FROM_TARGET, had = of_target, challenged = false;
    for (end = first + 1; end < c->n_winners; end++) {
      gt_collected_winner *other = &c->winners[end];
      if (gt_order_winner_keys(c->devices, best, other) != 0) break;
      bool same = gt_order_winners(c->devices, best, other) == 0;
      had = had || other->from == GT_FROM_TARGET;
      of_target = of_target || (same && other->from == GT_FROM_TARGET);
      challenged = challenged || !same;
      if (strcmp(best->winner.variant.configuration, other->winner.variant.configuration) != 0) {
        counts->conflicts++;
        tell(c, best, other, conflict, context);
      }
      free(other->host);
      gt_winner_free(&other->winner);
    }
    if (of_target) best->from = GT_FROM_TARGET;
    counts->new_winners += !had;
    counts->replaced_winners += had && !of_target;
    counts->kept_winners += of_target && challenged;
    c->winners[kept++] = *best;
  }
  c->n_winners = kept;
}

void gt_merge_settle(gt_collection *c, void (*conflict)(void *context, const gt_conflict *conflict),
                     void *context, gt_merge_counts *counts) {
  *counts = (gt_merge_counts){0};
  gt_collection_sort(c);
  settle_trials(c, counts);
  settle_winners(c, conflict, context, counts);
}
