#include "tuner/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

struct gt_search {
  gt_search_state state;
  const gt_strategy *strategy;
  void *of_strategy;
  size_t *first, n_first, at_first;
};

gt_status gt_search_check(const char *strategy, gt_error *error) {
  if (gt_strategy_named(strategy)) return GT_OK;
  gt_buffer names = {0};
  for (size_t i = 0; gt_strategies[i]; i++)
    gt_buffer_print(&names, "%s%s", i ? ", " : "", gt_strategies[i]->name);
  gt_fail(error, GT_USAGE, "unknown strategy '%.80s'; strategies are %s", strategy, names.data);
  gt_buffer_free(&names);
  return GT_USAGE;
}

gt_status gt_search_open(const gt_points *points, const gt_search_options *options, gt_search **search,
                         gt_error *error) {
  *search = NULL;
  const char *name = options->strategy;
  if (!name) name = points->count <= options->budget ? "exhaustive" : "bayes";
  gt_status status = gt_search_check(name, error);
  if (status != GT_OK) return status;
  gt_search *s = *search = gt_alloc(sizeof *s);
  size_t n = points->count + 1;
  s->state = (gt_search_state){.points = points,
                               .expected = options->expected,
                               .taken = gt_alloc(n * sizeof(bool)),
                               .us = gt_alloc(n * sizeof(double)),
                               .reported = gt_alloc(n * sizeof(size_t))};
  s->first = gt_alloc((options->n_first + points->n_families + 1) * sizeof *s->first);
  for (size_t i = 0; i < options->n_first; i++) s->first[s->n_first++] = options->first[i];
  for (size_t f = 0; f < points->n_families; f++)
    if (points->families[f].standard != GT_NO_POINT) s->first[s->n_first++] = points->families[f].standard;
  s->strategy = gt_strategy_named(name);
  s->of_strategy = s->strategy->open(&s->state, options->seed);
  return GT_OK;
}

void gt_search_close(gt_search *search) {
  if (!search) return;
  search->strategy->close(search->of_strategy);
  free(search->state.taken);
  free(search->state.us);
  free(search->state.reported);
  free(search->first);
  free(search);
}

const char *gt_search_strategy(const gt_search *search) {
  return search->strategy->name;
}

bool gt_search_learns(const gt_search *search) {
  return search->strategy->learns;
}

void gt_search_take(gt_search *search, size_t point) {
  if (search->state.taken[point]) return;
  search->state.taken[point] = true;
  search->state.n_taken++;
}

size_t gt_search_next(gt_search *search) {
  const gt_search_state *state = &search->state;
  if (state->n_taken == state->points->count) return GT_NO_POINT;
  size_t point = GT_NO_POINT;
  while (search->at_first < search->n_first && point == GT_NO_POINT) {
    size_t candidate = search->first[search->at_first++];
    if (!state->taken[candidate]) point = candidate;
  }
  if (point == GT_NO_POINT) point = search->strategy->next(search->of_strategy);
  if (point == GT_NO_POINT) return GT_NO_POINT;
  gt_search_take(search, point);
  return point;
}

void gt_search_report(gt_search *search, size_t point, double us) {
  gt_search_state *state = &search->state;
  if (state->us[point] != 0) return;
  gt_search_take(search, point);
  state->us[point] = us > 0 ? us : INFINITY; // a time of 0 or NaN is none
  state->reported[state->n_reported++] = point;
  search->strategy->report(search->of_strategy, point);
}
