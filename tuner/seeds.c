#include "tuner/seeds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

static double time_of(const gt_trial *trial) {
  return gt_trial_is_timed(trial) ? trial->median_us : INFINITY;
}

void gt_seeds_free(gt_seeds *seeds) {
  free(seeds->first);
  gt_history_view_free(&seeds->view);
  *seeds = (gt_seeds){0};
}

static void add(gt_seeds *seeds, size_t point) {
  if (point == GT_NO_POINT) return;
  seeds->first = gt_realloc(seeds->first, (seeds->n_first + 1) * sizeof *seeds->first);
  seeds->first[seeds->n_first++] = point;
}

// --- this problem's trials
// -------------------------------------------------------------------------------

typedef struct {
  size_t point;
  double us;
  char *configuration;
} own_trial;

typedef struct {
  const gt_points *points;
  own_trial *list;
  size_t count;
} own_trials;

static void on_own(void *context, const gt_trial *trial) {
  own_trials *own = context;
  size_t point = gt_points_find_text(own->points, trial->configuration);
  if (point == GT_NO_POINT) return;
  own->list = gt_realloc(own->list, (own->count + 1) * sizeof *own->list);
  own->list[own->count++] = (own_trial){point, time_of(trial), gt_strdup(trial->configuration)};
}

static int fastest_first(const void *a, const void *b) {
  const own_trial *one = a, *other = b;
  if (one->us != other->us) return one->us < other->us ? -1 : 1;
  return (one->point > other->point) - (one->point < other->point);
}

static gt_status add_own(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem,
                         const gt_points *points, gt_seeds *seeds, gt_error *error) {
  own_trials own = {.points = points};
  gt_status status = gt_cache_each_trial(cache, device, problem, on_own, &own, error);
  if (own.count) qsort(own.list, own.count, sizeof *own.list, fastest_first);
  for (size_t i = 0; i < own.count; i++) {
    // Trials of another device or driver of the model would have to be repeated.
    gt_trial trial;
    if (status == GT_OK)
      status = gt_cache_get_trial(cache, device, problem, own.list[i].configuration, &trial, error);
    if (status == GT_OK) {
      add(seeds, own.list[i].point);
      gt_trial_free(&trial);
    } else if (status == GT_NOT_FOUND) {
      status = GT_OK;
    }
    free(own.list[i].configuration);
  }
  free(own.list);
  return status;
}

// --- other problems' trials
// ------------------------------------------------------------------------------

static gt_status on_other(void *context, const char *model, const char *text, const gt_trial *trial,
                          gt_error *error) {
  (void)model, (void)error;
  gt_problem problem;
  // A later version may know more operators.
  if (gt_problem_parse(text, &problem, NULL) == GT_OK)
    gt_history_add(context, &problem, trial->configuration, time_of(trial));
  return GT_OK;
}

gt_status gt_seeds_history(gt_cache *cache, const gt_fingerprint *device, gt_history **history, gt_error *error) {
  *history = gt_history_new();
  gt_status status = gt_cache_each_stored_trial(cache, device, on_other, *history, error);
  if (status == GT_OK) return GT_OK;
  gt_history_free(*history);
  *history = NULL;
  return status;
}

gt_status gt_seeds_find(gt_cache *cache, const gt_fingerprint *device, const gt_problem *problem, bool retry,
                        const char *incumbent, const gt_history *history, const gt_points *points,
                        gt_seeds *seeds, gt_error *error) {
  *seeds = (gt_seeds){0};
  if (incumbent) add(seeds, gt_points_find_text(points, incumbent));
  gt_status status = retry ? GT_OK : add_own(cache, device, problem, points, seeds, error);
  if (status != GT_OK) {
    gt_seeds_free(seeds);
    return status;
  }
  gt_history_look(history, problem, points, &seeds->view);
  for (size_t i = 0; i < seeds->view.n_first; i++) add(seeds, seeds->view.first[i]);
  return GT_OK;
}

// --- where there are none
// ------------------------------------------------------------------------------

// The cheapest default, or point (`any`), that costs more than `above`.
static size_t next_cheapest(const gt_points *points, const double *expected, bool any, double above) {
  size_t best = GT_NO_POINT;
  for (size_t f = 0; f < points->n_families; f++) {
    const gt_point_family *family = &points->families[f];
    for (size_t p = family->first; p < family->first + family->count; p++)
      if ((any || p == family->standard) && expected[p] > above &&
          (best == GT_NO_POINT || expected[p] < expected[best]))
        best = p;
  }
  return best;
}

void gt_seeds_add_costs(const gt_points *points, const double *costs, gt_seeds *seeds) {
  double most = -INFINITY, *expected = gt_alloc((points->count + 1) * sizeof *expected);
  for (size_t p = 0; p < points->count; p++) most = fmax(most, costs[p]); // fmax passes NaN over
  for (size_t p = 0; p < points->count; p++) expected[p] = isnan(costs[p]) ? most : costs[p];
  if (most == -INFINITY) {
    free(expected);
    return;
  }
  seeds->view.expected = expected;
  for (int any = 0; any <= 1; any++) {
    size_t count = any ? GT_SEEDS_CHEAPEST : points->n_families, point;
    double above = -INFINITY;
    for (size_t i = 0; i < count; i++, above = expected[point]) {
      point = next_cheapest(points, expected, any, above);
      if (point == GT_NO_POINT) break;
      add(seeds, point);
    }
  }
}
