#include "tuner/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "tuner/choose.h"
#include "tuner/keep.h"
#include "tuner/try.h"

typedef struct {
  gt_generator *generator;
  gt_workshop *workshop;
  gt_cache *cache;
  gt_problem problems[GT_CLASSES];
  const gt_timing_options *timing;
  // Configurations that won somewhere, and their times in microseconds; 0: it failed there.
  size_t count;
  char **configurations;
  double (*us)[GT_CLASSES], (*spread_us)[GT_CLASSES];
} contest;

static void add_runner(contest *c, const char *configuration) {
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->configurations[i], configuration) == 0) return;
  c->configurations = gt_realloc(c->configurations, (c->count + 1) * sizeof *c->configurations);
  c->configurations[c->count++] = gt_strdup(configuration);
}

// The time of a runner on a class: a stored trial's, or one that is made and stored now, for which the device prepares
// the class once.
static gt_status time_runner(contest *c, size_t runner, int class, bool *prepared, gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(c->workshop);
  const gt_problem *problem = &c->problems[class];
  const char *configuration = c->configurations[runner];
  gt_trial trial = {0};
  gt_status status = gt_cache_get_trial(c->cache, device, problem, configuration, &trial, NULL);
  if (status != GT_OK) {
    status = gt_try(c->generator, c->workshop, problem, configuration, c->timing, prepared, &trial, error);
    if (status == GT_OK) status = gt_cache_put_trial(c->cache, device, problem, &trial, error);
  }
  if (status == GT_OK && gt_trial_is_timed(&trial)) {
    c->us[runner][class] = trial.median_us;
    c->spread_us[runner][class] = trial.spread_us;
  }
  gt_trial_free(&trial);
  return status;
}

static gt_status time_runners(contest *c, gt_error *error) {
  gt_status status = GT_OK;
  c->us = gt_alloc((c->count + 1) * sizeof *c->us);
  c->spread_us = gt_alloc((c->count + 1) * sizeof *c->spread_us);
  for (int k = 0; k < GT_CLASSES; k++) {
    bool prepared = false;
    for (size_t i = 0; i < c->count && status == GT_OK; i++) status = time_runner(c, i, k, &prepared, error);
  }
  return status;
}

static gt_status store(const contest *c, const gt_problem *problem, const gt_tuned *tuned, gt_error *error) {
  gt_variant variant = {0};
  const gt_winner times = {.median_us = tuned->best_us,
                           .spread_us = tuned->best_spread_us,
                           .default_us = tuned->default_us,
                           .stream_us = tuned->stream_us};
  gt_status status = gt_render(c->generator, tuned->configuration, problem, gt_workshop_fingerprint(c->workshop),
                               &variant, error);
  if (status == GT_OK) status = gt_keep_winner(c->workshop, c->cache, problem, &variant, &times, error);
  gt_variant_free(&variant);
  return status;
}

// Adds up what the tuning of a class took.
static void add_counts(gt_tuned *all, const gt_tuned *one) {
  all->tried += one->tried, all->failed += one->failed, all->cached += one->cached;
  all->quarantined += one->quarantined, all->duplicates += one->duplicates, all->rejected += one->rejected;
  all->compiled += one->compiled, all->reused += one->reused;
  all->seconds += one->seconds, all->device_seconds += one->device_seconds;
  all->compile_wait_seconds += one->compile_wait_seconds;
  all->space += one->space;
  all->noisy = all->noisy || one->noisy;
}

// What is told of a class goes to the caller as of one of several.
typedef struct {
  void (*progress)(void *context, const gt_tune_progress *);
  void *context;
  size_t class; // from 1
  double begin; // of the first one, in seconds
} telling;

static void tell(void *context, const gt_tune_progress *of_class) {
  const telling *t = context;
  gt_tune_progress now = *of_class;
  now.class = t->class;
  now.classes = GT_CLASSES;
  if (now.seconds_left >= 0) { // the classes to come take as long as those before and this one
    double so_far = gt_seconds() - t->begin + now.seconds_left;
    now.seconds_left += so_far / (double)t->class * (double)(GT_CLASSES - t->class);
  }
  t->progress(t->context, &now);
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
  double default_us[GT_CLASSES], stream_us[GT_CLASSES], regret = 0;
  telling t = {.progress = progress, .context = context, .begin = gt_seconds()};
  gt_status status = GT_OK;
  for (int k = 0; k < GT_CLASSES && status == GT_OK; k++) {
    gt_tuned one;
    t.class = (size_t)k + 1;
    c.problems[k] = gt_problem_of_class(problem, k);
    status = gt_tune(generator, workshop, cache, &c.problems[k], options, progress ? tell : NULL, &t, &one, error);
    default_us[k] = one.default_us;
    if (one.untuned && !tuned->untuned) tuned->untuned = gt_strdup(one.untuned); // the same of every class
    stream_us[k] = one.stream_us;
    add_counts(tuned, &one);
    if (one.note && !tuned->note) tuned->note = gt_strdup(one.note);
    if (one.configuration) add_runner(&c, one.configuration);
    for (size_t i = 0; i < one.n_ties; i++) add_runner(&c, one.ties[i].configuration);
    if (one.repeating) add_runner(&c, one.repeating); // one whose results repeat may be asked for
    if (one.untuned) add_runner(&c, one.untuned); // good for many, though the best of none
    gt_tuned_free(&one);
  }
  if (status == GT_OK) status = time_runners(&c, error);
  int winner = -1;
  if (status == GT_OK)
    winner = gt_choose_everywhere(c.us[0], (const char *const *)c.configurations, c.count, GT_CLASSES, &regret);
  if (status == GT_OK && winner < 0)
    status = gt_fail(error, GT_FAILED, "no configuration gave a right result for all classes of grids");
  if (winner >= 0) {
    tuned->configuration = gt_strdup(c.configurations[winner]);
    tuned->best_us = gt_time_everywhere(c.us[winner], GT_CLASSES);
    tuned->best_spread_us = gt_time_everywhere(c.spread_us[winner], GT_CLASSES);
    tuned->default_us = gt_time_everywhere(default_us, GT_CLASSES);
    for (size_t i = 0; i < c.count && tuned->untuned; i++)
      if (strcmp(c.configurations[i], tuned->untuned) == 0) tuned->untuned_us = gt_time_everywhere(c.us[i], GT_CLASSES);
    tuned->stream_us = gt_time_everywhere(stream_us, GT_CLASSES);
    if (!tuned->note)
      tuned->note = gt_print("at most %.2f times the best of a class of grids; times are means over the classes", regret);
    status = store(&c, problem, tuned, error);
    if (status == GT_OK) status = gt_keep_repeating(generator, workshop, cache, problem, tuned, error);
  }
  for (size_t i = 0; i < c.count; i++) free(c.configurations[i]);
  free(c.configurations);
  free(c.us);
  free(c.spread_us);
  return status;
}
