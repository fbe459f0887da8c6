// Every point once. Families take turns, each in the order of its points, so that a run that is cut short has
// seen something of each.
#include <stdlib.h>

#include "base/buffer.h"
#include "tuner/strategy.h"

typedef struct {
  const gt_search_state *search;
  size_t turn;  // family
  size_t *next; // of each family: no point before this one is free
} exhaustive;

static void *open_exhaustive(const gt_search_state *search, uint64_t seed) {
  (void)seed; // there is only one order
  exhaustive *e = gt_alloc(sizeof *e);
  e->search = search;
  e->next = gt_alloc((search->points->n_families + 1) * sizeof *e->next);
  return e;
}

static size_t next_exhaustive(void *strategy) {
  exhaustive *e = strategy;
  const gt_points *points = e->search->points;
  for (size_t tries = 0; tries < points->n_families; tries++) {
    size_t f = e->turn;
    const gt_point_family *family = &points->families[f];
    e->turn = (e->turn + 1) % points->n_families;
    while (e->next[f] < family->count && e->search->taken[family->first + e->next[f]]) e->next[f]++;
    if (e->next[f] < family->count) return family->first + e->next[f];
  }
  return GT_NO_POINT;
}

static void report_exhaustive(void *strategy, size_t point) {
  (void)strategy, (void)point; // the order does not depend on what was measured
}

static void close_exhaustive(void *strategy) {
  exhaustive *e = strategy;
  free(e->next);
  free(e);
}

const gt_strategy gt_strategy_exhaustive = {
    "exhaustive", false, open_exhaustive, next_exhaustive, report_exhaustive, close_exhaustive};
