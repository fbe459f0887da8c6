// Iterated local search: a few first points, then from the best one to any neighbour (one parameter changed
// to any value) that is faster, again and again; when no neighbour is, from the next best one, by turns with
// a new first point.
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/strategy.h"

enum { FIRST = 8 };

typedef struct {
  const gt_search_state *search;
  uint64_t random;
  size_t base;  // whose neighbours are tried
  size_t *list; // its neighbours that are still to be tried, the last one first
  size_t n_list;
  bool *exhausted; // of each point: all its neighbours were tried
  bool restarts;   // whether the next restart is at a new point
} descent;

static void *open_descent(const gt_search_state *search, uint64_t seed) {
  descent *d = gt_alloc(sizeof *d);
  size_t most = 1;
  for (size_t f = 0; f < search->points->n_families; f++) {
    size_t n = gt_points_most_neighbours(&search->points->families[f]);
    if (n > most) most = n;
  }
  *d = (descent){.search = search, .random = seed, .base = GT_NO_POINT};
  d->list = gt_alloc(most * sizeof *d->list);
  d->exhausted = gt_alloc((search->points->count + 1) * sizeof *d->exhausted);
  return d;
}

static void go_to(descent *d, size_t base) {
  const gt_point_family *family = gt_points_family(d->search->points, base);
  d->base = base;
  d->n_list = gt_points_neighbours(family, base, d->list);
  gt_shuffle(d->list, d->n_list, &d->random);
  // Those with odd values last in their turn, which is from the end; the others stay in random order.
  size_t *sorted = gt_alloc((d->n_list + 1) * sizeof *sorted), n = 0;
  for (size_t odd = family->n_axes + 1; odd-- > 0;)
    for (size_t i = 0; i < d->n_list; i++)
      if (gt_points_odd(family, d->list[i]) == odd) sorted[n++] = d->list[i];
  memcpy(d->list, sorted, n * sizeof *sorted);
  free(sorted);
}

// The fastest reported point whose neighbours are not all tried.
static size_t best_left(const descent *d) {
  const gt_search_state *search = d->search;
  size_t best = GT_NO_POINT;
  for (size_t i = 0; i < search->n_reported; i++) {
    size_t point = search->reported[i];
    if (!d->exhausted[point] && (best == GT_NO_POINT || search->us[point] < search->us[best])) best = point;
  }
  return best;
}

static size_t next_descent(void *strategy) {
  descent *d = strategy;
  size_t start = d->search->n_taken < FIRST ? gt_draw_first(d->search, &d->random) : GT_NO_POINT;
  if (start != GT_NO_POINT) return start;
  for (;;) {
    while (d->base != GT_NO_POINT && d->n_list) {
      size_t point = d->list[--d->n_list];
      if (!d->search->taken[point]) return point;
    }
    if (d->base != GT_NO_POINT) {
      d->exhausted[d->base] = true;
      d->base = GT_NO_POINT;
      d->restarts = !d->restarts;
      if (d->restarts) return gt_draw_first(d->search, &d->random);
    }
    size_t best = best_left(d);
    if (best == GT_NO_POINT) return gt_draw_first(d->search, &d->random);
    go_to(d, best);
  }
}

static void report_descent(void *strategy, size_t point) {
  descent *d = strategy;
  if (d->base != GT_NO_POINT && d->search->us[point] < d->search->us[d->base]) go_to(d, point);
}

static void close_descent(void *strategy) {
  descent *d = strategy;
  free(d->list);
  free(d->exhausted);
  free(d);
}

const gt_strategy gt_strategy_descent = {"descent",    true,           open_descent,
                                         next_descent, report_descent, close_descent};
