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

// The records of one problem and model: the winners, then the best beside winners whose results repeat; each
// the best first. They are the collection's from `first` on.
typedef struct {
  size_t first, others, end;
} group;

static group next_group(const gt_collection *c, size_t first) {
  group g = {first, first, first};
  while (g.end < c->n_winners &&
         gt_order_winner_problems(c->devices, &c->winners[first], &c->winners[g.end]) == 0) {
    g.others += !c->winners[g.end].deterministic;
    g.end++;
  }
  return g;
}

// Whether the target has this very record, as what it is here.
static bool target_has(const gt_collection *c, size_t record, size_t end) {
  for (size_t i = record; i < end && gt_order_winners(c->devices, &c->winners[record], &c->winners[i]) == 0;
       i++)
    if (c->winners[i].from == GT_FROM_TARGET) return true;
  return false;
}

static bool target_has_any(const gt_collection *c, size_t first, size_t end) {
  for (size_t i = first; i < end; i++)
    if (c->winners[i].from == GT_FROM_TARGET) return true;
  return false;
}

// The first of the winners stays.
static void settle_winner(gt_collection *c, const group *g,
                          void (*conflict)(void *context, const gt_conflict *conflict), void *context,
                          gt_merge_counts *counts) {
  gt_collected_winner *best = &c->winners[g->first];
  bool had = target_has_any(c, g->first, g->others), of_target = target_has(c, g->first, g->others),
       challenged = false;
  for (size_t i = g->first + 1; i < g->others; i++) {
    challenged = challenged || gt_order_winners(c->devices, best, &c->winners[i]) != 0;
    if (strcmp(best->winner.variant.configuration, c->winners[i].winner.variant.configuration) == 0) continue;
    counts->conflicts++;
    tell(c, best, &c->winners[i], conflict, context);
  }
  if (of_target) best->from = GT_FROM_TARGET;
  counts->new_winners += !had;
  counts->replaced_winners += had && !of_target;
  counts->kept_winners += of_target && challenged;
}

// The best whose results repeat is one that was beside a winner, or was a winner: the one that stays, and
// then nothing is beside it, or another one, which then is moved. What was dropped where another one was as
// good is not missed later, so that the order of merges makes no difference. The record's number; g->end for
// none.
static size_t settle_deterministic(gt_collection *c, const group *g, gt_merge_counts *counts) {
  size_t best = g->others, winner = g->first;
  while (winner < g->others && !c->winners[winner].winner.variant.reproducible) winner++;
  bool was_winner =
      winner < g->others &&
      (best == g->end || gt_order_winner_merits(c->devices, &c->winners[winner], &c->winners[best]) < 0);
  // The winner that stays, or the same as that.
  if (winner == g->first && winner < g->others &&
      (was_winner || gt_order_winner_merits(c->devices, &c->winners[winner], &c->winners[best]) == 0))
    return g->end;
  if (was_winner) best = winner;
  if (best == g->end) return best;
  bool had = target_has_any(c, g->others, g->end), of_target = !was_winner && target_has(c, best, g->end);
  if (of_target) c->winners[best].from = GT_FROM_TARGET;
  c->winners[best].moved = was_winner;
  c->winners[best].deterministic = true;
  counts->new_deterministic += !had;
  counts->replaced_deterministic += had && !of_target;
  return best;
}

static void settle_winners(gt_collection *c, void (*conflict)(void *context, const gt_conflict *conflict),
                           void *context, gt_merge_counts *counts) {
  size_t kept = 0;
  for (size_t first = 0; first < c->n_winners;) {
    group g = next_group(c, first);
    first = g.end;
    if (g.first < g.others) settle_winner(c, &g, conflict, context, counts);
    size_t beside = settle_deterministic(c, &g, counts);
    for (size_t i = g.first; i < g.end; i++) {
      if ((i == g.first && g.first < g.others) || i == beside) {
        c->winners[kept++] = c->winners[i];
      } else {
        free(c->winners[i].host);
        gt_winner_free(&c->winners[i].winner);
      }
    }
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
