#include "tuner/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "tuner/try.h"

enum { FIRST = GT_GRID_CLASS_ANY + 1, CLASSES = GT_GRID_CLASSES - FIRST };

// A configuration that won somewhere, and its times in microseconds; 0: it failed there.
typedef struct {
  char *configuration;
  double us[CLASSES], spread_us[CLASSES];
} runner;

typedef struct {
  gt_generator *generator;
  gt_workshop *workshop;
  gt_cache *cache;
  gt_problem problems[CLASSES];
  const gt_timing_options *timing;
  runner *runners;
  size_t count;
} contest;

bool gt_has_classes(const gt_problem *problem) {
  return problem->op->form == GT_FORM_GRID && problem->sampling.positions == GT_GRID_CLASS_ANY;
}

static void add_runner(contest *c, const char *configuration) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->runners[i].configuration, configuration) == 0) return;
  c->runners = gt_realloc(c->runners, (c->count + 1) * sizeof *c->runners);
  c->runners[c->count++] = (runner){.configuration = gt_strdup(configuration)};
}

// The time of a runner on a class: a stored trial's, or one that is made and stored now.
static gt_status time_runner(contest *c, runner *r, int class, gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(c->workshop);
  const gt_problem *problem = &c->problems[class];
  gt_trial trial = {0};
  gt_status status = gt_cache_get_trial(c->cache, device, problem, r->configuration, &trial, NULL);
  if (status != GT_OK) {
    status = gt_try(c->generator, c->workshop, problem, r->configuration, c->timing, &trial, error);
    if (status == GT_OK) status = gt_cache_put_trial(c->cache, device, problem, &trial, error);
  }
  if (status == GT_OK && gt_trial_is_timed(&trial)) {
    r->us[class] = trial.median_us;
    r->spread_us[class] = trial.spread_us;
  }
  gt_trial_free(&trial);
  return status;
}

static double geometric_mean(const double values[CLASSES]) {
  double sum = 0;
  for (int i = 0; i < CLASSES; i++) {
    if (values[i] <= 0) return 0;
    sum += log(values[i]);
  }
  return exp(sum / CLASSES);
}

// The least largest regret wins; of equal ones the first in the order of texts. -1: none was right everywhere.
static int choose(const contest *c, double *regret) {
  double best[CLASSES];
  int winner = -1;
  for (int k = 0; k < CLASSES; k++) {
    best[k] = INFINITY;
    for (size_t i = 0; i < c->count; i++)
      if (c->runners[i].us[k] > 0) best[k] = fmin(best[k], c->runners[i].us[k]);
  }
  for (size_t i = 0; i < c->count; i++) {
    const runner *r = &c->runners[i];
    double largest = 0;
    for (int k = 0; k < CLASSES; k++) largest = fmax(largest, r->us[k] > 0 ? r->us[k] / best[k] : INFINITY);
    if (isinf(largest)) continue;
    if (winner >= 0 && (largest > *regret || (largest == *regret &&
                                              strcmp(r->configuration, c->runners[winner].configuration) > 0)))
      continue;
    winner = (int)i;
    *regret = largest;
  }
  return winner;
}

static gt_status store(const contest *c, const gt_problem *problem, const gt_tuned *tuned, gt_error *error) {
  gt_variant variant = {0};
  const gt_compiled *compiled;
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  const gt_fingerprint *device = gt_workshop_fingerprint(c->workshop);
  gt_status status = gt_render(c->generator, tuned->configuration, problem, device, &variant, error);
  if (status == GT_OK) status = gt_workshop_code(c->workshop, &variant, &compiled, error);
  if (status == GT_OK && compiled->status != GT_OK)
    status = gt_fail(error, compiled->status, "the winner %s does not compile again: %s", variant.configuration,
                     compiled->message.data ? compiled->message.data : "");
  if (status == GT_OK) {
    gt_winner winner = {.problem = text,
                        .variant = variant, // borrowed, as is the code
                        .median_us = tuned->best_us,
                        .spread_us = tuned->best_spread_us,
                        .default_us = tuned->default_us,
                        .stream_us = tuned->stream_us,
                        .code = compiled->code.data,
                        .code_size = compiled->code.length};
    memcpy(winner.code_hash, compiled->code_hash, sizeof winner.code_hash);
    status = gt_cache_put_winner(c->cache, device, problem, &winner, error);
  }
  gt_variant_free(&variant);
  return status;
}

// Adds up what the tuning of a class took.
static void add_counts(gt_tuned *all, const gt_tuned *one) {
  all->tried += one->tried, all->failed += one->failed, all->cached += one->cached;
  all->quarantined += one->quarantined, all->duplicates += one->duplicates;
  all->compiled += one->compiled, all->reused += one->reused;
  all->seconds += one->seconds, all->device_seconds += one->device_seconds;
  all->compile_wait_seconds += one->compile_wait_seconds;
  all->space += one->space;
  all->noisy = all->noisy || one->noisy;
}

gt_status gt_tune_classes(gt_generator *generator, gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                          const gt_tune_options *options, void (*progress)(void *context, const gt_tune_progress *),
                          void *context, gt_tuned *tuned, gt_error *error) {
  *tuned = (gt_tuned){0};
  if (gt_problem_in_elements(problem) == 0) {
    tuned->empty = true;
    return GT_OK;
  }
  contest c = {.generator = generator, .workshop = workshop, .cache = cache, .timing = &options->timing};
  double default_us[CLASSES], stream_us[CLASSES], regret = 0;
  gt_status status = GT_OK;
  for (int k = 0; k < CLASSES && status == GT_OK; k++) {
    gt_tuned one;
    c.problems[k] = *problem;
    c.problems[k].sampling.positions = (gt_grid_class)(FIRST + k);
    status = gt_tune(generator, workshop, cache, &c.problems[k], options, progress, context, &one, error);
    default_us[k] = one.default_us;
    stream_us[k] = one.stream_us;
    add_counts(tuned, &one);
    if (one.note && !tuned->note) tuned->note = gt_strdup(one.note);
    if (one.configuration) add_runner(&c, one.configuration);
    for (size_t i = 0; i < one.n_ties; i++) add_runner(&c, one.ties[i].configuration);
    gt_tuned_free(&one);
  }
  for (size_t i = 0; i < c.count && status == GT_OK; i++)
    for (int k = 0; k < CLASSES && status == GT_OK; k++) status = time_runner(&c, &c.runners[i], k, error);
  int winner = status == GT_OK ? choose(&c, &regret) : -1;
  if (status == GT_OK && winner < 0)
    status = gt_fail(error, GT_FAILED, "no configuration gave a right result for all classes of grids");
  if (winner >= 0) {
    const runner *r = &c.runners[winner];
    tuned->configuration = gt_strdup(r->configuration);
    tuned->best_us = geometric_mean(r->us);
    tuned->best_spread_us = geometric_mean(r->spread_us);
    tuned->default_us = geometric_mean(default_us);
    tuned->stream_us = geometric_mean(stream_us);
    if (!tuned->note)
      tuned->note = gt_print("at most %.2f times the best of a class of grids; times are means over the classes", regret);
    status = store(&c, problem, tuned, error);
  }
  for (size_t i = 0; i < c.count; i++) free(c.runners[i].configuration);
  free(c.runners);
  return status;
}
