#include "tuner/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "generator/configuration.h"
#include "generator/distance.h"

// Trials of nearer problems count more, by exp(-distance); those of similar configurations too, by
// exp(-SHARPNESS · parameters that differ).
#define SHARPNESS 2.5
#define FAMILY_WEIGHT 0.05 // how much the mean of all trials of a family counts, against its similar ones
#define SLOWEST 3.0        // ln(time / best of its problem) is cut off there: slow is slow
enum { MOST_TRIALS = 3000, LEAST_TRIALS = 5 };

typedef struct {
  gt_configuration configuration;
  double us;
} record;

typedef struct {
  gt_problem problem;
  record *records;
  size_t count;
  double best_us; // INFINITY: none was timed
} tuned;

struct gt_history {
  tuned *problems;
  size_t count;
};

gt_history *gt_history_new(void) {
  return gt_alloc(sizeof(gt_history));
}

size_t gt_history_problems(const gt_history *history) {
  return history->count;
}

void gt_history_free(gt_history *history) {
  if (!history) return;
  for (size_t p = 0; p < history->count; p++) {
    for (size_t i = 0; i < history->problems[p].count; i++)
      gt_configuration_free(&history->problems[p].records[i].configuration);
    free(history->problems[p].records);
  }
  free(history->problems);
  free(history);
}

static bool is_same(const gt_problem *a, const gt_problem *b) {
  char one[GT_PROBLEM_TEXT], other[GT_PROBLEM_TEXT];
  gt_problem_print(a, one);
  gt_problem_print(b, other);
  return strcmp(one, other) == 0;
}

void gt_history_add(gt_history *history, const gt_problem *problem, const char *configuration, double us) {
  record new = {.us = us};
  if (gt_configuration_parse(configuration, &new.configuration, NULL) != GT_OK) return;
  tuned *last = history->count ? &history->problems[history->count - 1] : NULL;
  if (!last || !is_same(&last->problem, problem)) {
    history->problems = gt_realloc(history->problems, (history->count + 1) * sizeof *history->problems);
    last = &history->problems[history->count++];
    *last = (tuned){.problem = *problem, .best_us = INFINITY};
  }
  if ((last->count & (last->count - 1)) == 0) // room for the next power of two
    last->records = gt_realloc(last->records, (last->count ? 2 * last->count : 1) * sizeof *last->records);
  last->records[last->count++] = new;
  if (us < last->best_us) last->best_us = us;
}

// --- looking at a problem's points
// -------------------------------------------------------------------------

typedef struct {
  const tuned *from;
  double distance;
} neighbour;

static int by_distance(const void *a, const void *b) {
  const neighbour *one = a, *other = b;
  if (one->distance != other->distance) return one->distance < other->distance ? -1 : 1;
  return (one->from > other->from) - (one->from < other->from);
}

// A trial as the points see it: on each axis of the family, the place of its value there.
enum { UNKNOWN_VALUE = 0xffff, NO_PARAMETER = 0xfffe };

static const gt_point_family *family_named(const gt_points *points, const char *name) {
  for (size_t f = 0; f < points->n_families; f++)
    if (strcmp(points->families[f].name, name) == 0) return &points->families[f];
  return NULL;
}

static void place(const gt_point_family *family, const gt_configuration *configuration, uint16_t *places) {
  for (size_t i = 0; i < family->n_axes; i++) {
    const gt_parameter_axis *axis = &family->axes[i];
    const char *value = gt_configuration_get(configuration, axis->name);
    places[i] = value ? UNKNOWN_VALUE : NO_PARAMETER;
    for (size_t v = 0; value && v < axis->n_values; v++)
      if (strcmp(axis->values[v], value) == 0) places[i] = (uint16_t)v;
  }
}

// Sums over the trials of one family.
typedef struct {
  double *weights, *sums; // of each of its points
  double all_weight, all_sum;
} tally;

static void count_trial(tally *t, const gt_point_family *family, const uint16_t *places, double value,
                        double weight) {
  double by_difference[GT_MAX_PARAMETERS + 1];
  for (size_t d = 0; d <= family->n_axes; d++) by_difference[d] = weight * exp(-SHARPNESS * (double)d);
  t->all_weight += weight;
  t->all_sum += weight * value;
  const uint16_t *own = family->coordinates;
  for (size_t p = 0; p < family->count; p++, own += family->n_axes) {
    size_t different = 0;
    for (size_t i = 0; i < family->n_axes; i++) different += own[i] != places[i] && places[i] != NO_PARAMETER;
    t->weights[p] += by_difference[different];
    t->sums[p] += by_difference[different] * value;
  }
}

// The point that has a record's values, or GT_NO_POINT.
static size_t point_of(const gt_points *points, const record *r) {
  const gt_point_family *family = family_named(points, r->configuration.family);
  if (!family) return GT_NO_POINT;
  uint16_t places[GT_MAX_PARAMETERS];
  place(family, &r->configuration, places);
  for (size_t i = 0; i < family->n_axes; i++)
    if (places[i] >= NO_PARAMETER) return GT_NO_POINT;
  return r->configuration.count == family->n_axes ? gt_points_find(family, places) : GT_NO_POINT;
}

// The fastest of a problem's configurations that is among the points.
static size_t best_point(const gt_points *points, const tuned *from) {
  size_t best = GT_NO_POINT;
  double best_us = INFINITY;
  for (size_t i = 0; i < from->count; i++) {
    if (!(from->records[i].us < best_us)) continue;
    size_t point = point_of(points, &from->records[i]);
    if (point == GT_NO_POINT) continue;
    best = point;
    best_us = from->records[i].us;
  }
  return best;
}

static void add_first(gt_history_view *view, size_t point) {
  for (size_t i = 0; i < view->n_first; i++)
    if (view->first[i] == point) return;
  if (point != GT_NO_POINT && view->n_first < GT_HISTORY_FIRST) view->first[view->n_first++] = point;
}

void gt_history_view_free(gt_history_view *view) {
  free(view->expected);
  *view = (gt_history_view){0};
}

// Whether anything is to be learnt from a problem about another one.
static bool is_teacher(const tuned *from, const gt_problem *problem) {
  return from->best_us < INFINITY && !is_same(&from->problem, problem);
}

bool gt_history_tells(const gt_history *history, const gt_problem *problem, const char *const *families,
                      size_t n_families) {
  size_t used = 0;
  for (size_t p = 0; p < history->count && used < LEAST_TRIALS; p++) {
    const tuned *from = &history->problems[p];
    for (size_t i = 0; i < from->count && used < LEAST_TRIALS && is_teacher(from, problem); i++)
      for (size_t f = 0; f < n_families; f++)
        used += strcmp(families[f], from->records[i].configuration.family) == 0;
  }
  return used >= LEAST_TRIALS;
}

void gt_history_look(const gt_history *history, const gt_problem *problem, const gt_points *points,
                     gt_history_view *view) {
  *view = (gt_history_view){0};
  neighbour *near = gt_alloc((history->count + 1) * sizeof *near);
  tally *tallies = gt_alloc((points->n_families + 1) * sizeof *tallies);
  for (size_t f = 0; f < points->n_families; f++) {
    tallies[f].weights = gt_alloc((points->families[f].count + 1) * sizeof(double));
    tallies[f].sums = gt_alloc((points->families[f].count + 1) * sizeof(double));
  }
  size_t n_near = 0, used = 0;
  for (size_t p = 0; p < history->count; p++)
    if (is_teacher(&history->problems[p], problem))
      near[n_near++] =
          (neighbour){&history->problems[p], gt_problem_distance(&history->problems[p].problem, problem)};
  qsort(near, n_near, sizeof *near, by_distance);

  double all_weight = 0, all_sum = 0;
  for (size_t n = 0; n < n_near && used < MOST_TRIALS; n++) {
    add_first(view, best_point(points, near[n].from));
    for (size_t i = 0; i < near[n].from->count; i++) {
      const record *r = &near[n].from->records[i];
      const gt_point_family *family = family_named(points, r->configuration.family);
      if (!family) continue;
      uint16_t places[GT_MAX_PARAMETERS];
      place(family, &r->configuration, places);
      double value = fmin(log(r->us / near[n].from->best_us), SLOWEST), weight = exp(-near[n].distance);
      count_trial(&tallies[family - points->families], family, places, value, weight);
      all_weight += weight;
      all_sum += weight * value;
      used++;
    }
  }
  if (used >= LEAST_TRIALS) {
    view->expected = gt_alloc((points->count + 1) * sizeof *view->expected);
    for (size_t f = 0; f < points->n_families; f++) {
      const tally *t = &tallies[f];
      double scale = FAMILY_WEIGHT * all_weight / (double)used; // of one trial of mean weight
      double mean = (t->all_sum + scale * all_sum / all_weight) / (t->all_weight + scale);
      for (size_t p = 0; p < points->families[f].count; p++)
        view->expected[points->families[f].first + p] = (t->sums[p] + scale * mean) / (t->weights[p] + scale);
    }
  }
  for (size_t f = 0; f < points->n_families; f++) {
    free(tallies[f].weights);
    free(tallies[f].sums);
  }
  free(tallies);
  free(near);
}
