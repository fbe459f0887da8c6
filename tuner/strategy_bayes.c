// Bayesian optimisation: a few first points, then each time the point whose expected improvement over the
// best time is the largest, by a Gaussian process of ln(time) (Jones, Schonlau, Welch 1998).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/gaussian.h"
#include "tuner/strategy.h"

enum {
  FIRST = 8,       // points before the process is asked, in a space of one family
  FIRST_MORE = 3,  // and for each further family
  LEAST_TIMED = 3, // and so many of them reported
  MOST_CANDIDATES = 8192,
  MOST_OBSERVED = 400, // of more, the best and the latest are looked at
  CLIMBED = 16,        // in spaces with more candidates, neighbours of so many of the best are among them
};

typedef struct {
  const gt_search_state *search;
  uint64_t random;
  gt_gaussian *process;
  size_t *candidates, n_candidates;
  size_t *observed; // in the order of the process
  double *values;   // their values: ln(us), less what was expected
  double *guesses;  // of the values of those that are not reported yet
  size_t n_observed, room;
  bool *is_observed; // of each point
  size_t n_timed;    // reports of points that did not fail
  size_t next_fit;   // number of reports at which the kernel is fitted again
  double *mean, *deviation;
} bayes;

static void *open_bayes(const gt_search_state *search, uint64_t seed) {
  bayes *b = gt_alloc(sizeof *b);
  *b = (bayes){.search = search, .random = seed, .process = gt_gaussian_open(search->points)};
  b->candidates = gt_alloc(MOST_CANDIDATES * sizeof *b->candidates);
  b->is_observed = gt_alloc((search->points->count + 1) * sizeof *b->is_observed);
  b->mean = gt_alloc(MOST_CANDIDATES * sizeof *b->mean);
  b->deviation = gt_alloc(MOST_CANDIDATES * sizeof *b->deviation);
  return b;
}

static void close_bayes(void *strategy) {
  bayes *b = strategy;
  gt_gaussian_close(b->process);
  free(b->candidates);
  free(b->observed);
  free(b->values);
  free(b->guesses);
  free(b->is_observed);
  free(b->mean);
  free(b->deviation);
  free(b);
}

static double expected(const bayes *b, size_t point) {
  return b->search->expected ? b->search->expected[point] : 0;
}

// Free points that the process chooses among: all, or the neighbours of the best and some at random.
static void choose_candidates(bayes *b) {
  const gt_search_state *search = b->search;
  const gt_points *points = search->points;
  b->n_candidates = 0;
  if (points->count - search->n_taken <= MOST_CANDIDATES) {
    for (size_t i = 0; i < points->count; i++)
      if (!search->taken[i]) b->candidates[b->n_candidates++] = i;
    return;
  }
  bool *chosen = gt_alloc(points->count * sizeof *chosen);
  double above = 0;
  for (size_t n = 0; n < CLIMBED; n++) { // the best, one after the other
    size_t best = GT_NO_POINT;
    for (size_t i = 0; i < search->n_reported; i++) {
      double us = search->us[search->reported[i]];
      if (us > above && us < INFINITY && (best == GT_NO_POINT || us < search->us[best]))
        best = search->reported[i];
    }
    if (best == GT_NO_POINT) break;
    above = search->us[best];
    const gt_point_family *family = gt_points_family(points, best);
    size_t *list = gt_alloc((gt_points_most_neighbours(family) + 1) * sizeof *list);
    size_t count = gt_points_neighbours(family, best, list);
    for (size_t i = 0; i < count && b->n_candidates < MOST_CANDIDATES / 2; i++)
      if (!search->taken[list[i]] && !chosen[list[i]]) {
        chosen[list[i]] = true;
        b->candidates[b->n_candidates++] = list[i];
      }
    free(list);
  }
  for (size_t tries = 0; tries < 4 * MOST_CANDIDATES && b->n_candidates < MOST_CANDIDATES; tries++) {
    size_t point = gt_draw_any(search, &b->random);
    if (chosen[point]) continue;
    chosen[point] = true;
    b->candidates[b->n_candidates++] = point;
  }
  free(chosen);
}

// Adds a point to those that the process knows of, with a value to go on with until it is reported.
static void observe(bayes *b, size_t point, double guess) {
  if (b->n_observed == b->room) {
    b->room = 2 * b->room + 16;
    b->observed = gt_realloc(b->observed, b->room * sizeof *b->observed);
    b->values = gt_realloc(b->values, b->room * sizeof *b->values);
    b->guesses = gt_realloc(b->guesses, b->room * sizeof *b->guesses);
  }
  b->is_observed[point] = true;
  b->guesses[b->n_observed] = guess;
  b->observed[b->n_observed++] = point;
}

// The logarithm of a reported time, less what was expected of it.
static double value_of(const bayes *b, size_t point) {
  return log(b->search->us[point]) - expected(b, point);
}

// The values of the observed points. What failed counts like the slowest that did not; what is not reported
// yet, like its guess.
static void evaluate(bayes *b) {
  double slowest = -INFINITY;
  for (size_t i = 0; i < b->search->n_reported; i++)
    if (b->search->us[b->search->reported[i]] < INFINITY)
      slowest = fmax(slowest, value_of(b, b->search->reported[i]));
  for (size_t i = 0; i < b->n_observed; i++) {
    double us = b->search->us[b->observed[i]];
    b->values[i] = us == 0 ? b->guesses[i] : us < INFINITY ? value_of(b, b->observed[i]) : slowest;
  }
}

// Makes the process anew: the kernel fitted to all that is known, or, of very much, to the best half and the
// latest.
static void fit(bayes *b) {
  const gt_search_state *search = b->search;
  size_t n = search->n_reported, n_waiting = 0;
  size_t *waiting = gt_alloc((b->n_observed + 1) * sizeof *waiting);
  double *guesses = gt_alloc((b->n_observed + 1) * sizeof *guesses);
  for (size_t i = 0; i < b->n_observed; i++)
    if (search->us[b->observed[i]] == 0) {
      guesses[n_waiting] = b->guesses[i];
      waiting[n_waiting++] = b->observed[i];
    }
  b->n_observed = 0;
  memset(b->is_observed, 0, search->points->count * sizeof *b->is_observed);
  for (size_t i = 0; i < n; i++) {
    size_t better = 0, point = search->reported[i];
    if (n > MOST_OBSERVED && i + MOST_OBSERVED / 2 < n)
      for (size_t k = 0; k < n; k++) better += search->us[search->reported[k]] < search->us[point];
    if (better < MOST_OBSERVED / 2) observe(b, point, 0);
  }
  for (size_t i = 0; i < n_waiting; i++) observe(b, waiting[i], guesses[i]);
  free(waiting);
  free(guesses);
  choose_candidates(b);
  evaluate(b);
  gt_gaussian_fit(b->process, b->candidates, b->n_candidates, b->observed, b->values, b->n_observed);
  b->next_fit = n < 12 ? n + 1 : n < 40 ? n + 4 : n + n / 5;
}

// Expected improvement of a normally distributed value over `best`, up to what is below any double.
static double improvement(double best, double mean, double deviation) {
  double u = (best - mean) / deviation;
  return deviation * (u * 0.5 * erfc(-u * M_SQRT1_2) + exp(-0.5 * u * u) / sqrt(2 * M_PI));
}

// The free candidate of the largest expected improvement; among those where it is below any double, the one
// of the least mean. GT_NO_POINT: none is free.
static size_t choose(bayes *b) {
  const gt_search_state *search = b->search;
  double best_ln = INFINITY, most = -1, least = INFINITY;
  for (size_t i = 0; i < search->n_reported; i++)
    best_ln = fmin(best_ln, log(search->us[search->reported[i]]));
  evaluate(b);
  gt_gaussian_predict(b->process, b->values, b->mean, b->deviation);
  size_t chosen = GT_NO_POINT;
  for (size_t c = 0; c < b->n_candidates; c++) {
    size_t point = b->candidates[c];
    if (search->taken[point]) continue;
    double ln = b->mean[c] + expected(b, point), gain = improvement(best_ln, ln, b->deviation[c]);
    if (gain < most || (gain == most && ln >= least)) continue;
    most = gain, least = ln;
    chosen = c;
  }
  if (chosen == GT_NO_POINT) return GT_NO_POINT;
  size_t point = b->candidates[chosen];
  observe(b, point, b->mean[chosen]);
  return point;
}

static size_t next_bayes(void *strategy) {
  bayes *b = strategy;
  const gt_search_state *search = b->search;
  if (search->n_taken < FIRST + FIRST_MORE * (search->points->n_families - 1) || b->n_timed < LEAST_TIMED) return gt_draw_first(search, &b->random);
  if (search->n_reported >= b->next_fit) fit(b);
  while (gt_gaussian_count(b->process) < b->n_observed)
    gt_gaussian_add(b->process, b->observed[gt_gaussian_count(b->process)]);
  size_t point = choose(b);
  if (point != GT_NO_POINT) return point;
  fit(b); // other candidates
  point = choose(b);
  return point != GT_NO_POINT ? point : gt_draw_any(search, &b->random);
}

static void report_bayes(void *strategy, size_t point) {
  bayes *b = strategy;
  b->n_timed += b->search->us[point] < INFINITY;
  if (!b->is_observed[point]) observe(b, point, 0);
}

const gt_strategy gt_strategy_bayes = {"bayes", true, open_bayes, next_bayes, report_bayes, close_bayes};
