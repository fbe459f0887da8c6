#include "tuner/recheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generator/default.h"
#include "tuner/choose.h"
#include "tuner/positions.h"
#include "tuner/timing.h"

// What a recheck runs.
typedef struct {
  gt_winner winner;
  gt_variant variants[2]; // the winner and the default
  size_t count;           // of them: 1 when there is no default, or when it is the winner
  bool default_is_winner;
} runners;

static void free_runners(runners *r) {
  gt_winner_free(&r->winner);
  for (int i = 0; i < 2; i++) gt_variant_free(&r->variants[i]);
}

// The winner as it is stored, code object and all: that is what programs are given. Where only its
// configuration is known it is rendered.
static gt_status take_winner(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                             runners *r, gt_error *error) {
  if (!r->winner.code)
    return gt_render(generator, r->winner.variant.configuration, problem, gt_workshop_fingerprint(workshop),
                     &r->variants[0], error);
  r->variants[0] = r->winner.variant;
  r->winner.variant = (gt_variant){0};
  gt_workshop_provide(workshop, &r->variants[0], r->winner.code, r->winner.code_size);
  return GT_OK;
}

static gt_status take_default(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                              runners *r, gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(workshop);
  gt_status status = gt_plain_render(generator, problem, device, &r->variants[1], error);
  if (status != GT_OK) return status == GT_UNSUPPORTED ? GT_OK : status;
  r->default_is_winner = strcmp(r->variants[1].source_hash, r->variants[0].source_hash) == 0;
  r->count = r->default_is_winner ? 1 : 2;
  return GT_OK;
}

// A worker that dies over it is what the recheck found.
static gt_status judge(gt_status status, const gt_error *error, gt_trial *trial) {
  if (status != GT_CRASH && status != GT_TIMEOUT) return status;
  trial->outcome = status == GT_CRASH ? GT_OUTCOME_CRASH : GT_OUTCOME_TIMEOUT;
  free(trial->message);
  trial->message = gt_strdup(error->text);
  return GT_OK;
}

static gt_status measure(gt_workshop *workshop, runners *r, const gt_timing_options *timing,
                         gt_recheck *recheck, gt_error *error) {
  gt_timing_options once = *timing; // the check is what is wanted of this one
  once.min_batches = once.max_batches = 1;
  gt_trial trials[2] = {{0}, {0}};
  gt_status status = gt_workshop_trial(workshop, &r->variants[0], true, &once, &trials[0], error);
  if (status == GT_OK && trials[0].outcome == GT_OUTCOME_OK)
    status =
        judge(gt_workshop_retime(workshop, r->variants, r->count, timing, trials, error), error, &trials[0]);
  if (trials[0].outcome != GT_OUTCOME_OK) trials[0].median_us = trials[0].spread_us = 0;
  recheck->default_us = r->default_is_winner ? trials[0].median_us : trials[1].median_us;
  recheck->trial = trials[0];
  gt_trial_free(&trials[1]);
  return status;
}

static gt_status measure_problem(gt_workshop *workshop, const gt_problem *problem, runners *r,
                                 const gt_timing_options *timing, gt_recheck *recheck, gt_error *error) {
  gt_status status = gt_workshop_problem(workshop, problem, r->variants[1].source ? &r->variants[1] : NULL, error);
  return status == GT_OK ? measure(workshop, r, timing, recheck, error) : status;
}

// The geometric mean of a time over the classes; 0: one has none.
static double mean(const gt_recheck *classes, double (*time)(const gt_recheck *)) {
  double us[GT_CLASSES];
  for (int k = 0; k < GT_CLASSES; k++) us[k] = time(&classes[k]);
  return gt_time_everywhere(us, GT_CLASSES);
}
static double median_of(const gt_recheck *r) { return r->trial.median_us; }
static double spread_of(const gt_recheck *r) { return r->trial.spread_us; }
static double default_of(const gt_recheck *r) { return r->default_us; }

// Of a problem that was tuned for all classes of positions, whose times are geometric means over them (tuner/classes.h):
// the same, sample by sample. The first class that fails is the result.
static gt_status measure_classes(gt_workshop *workshop, const gt_problem *problem, runners *r,
                                 const gt_timing_options *timing, gt_recheck *recheck, gt_error *error) {
  gt_recheck classes[GT_CLASSES] = {{.default_us = 0}};
  gt_status status = GT_OK;
  int measured = 0;
  while (status == GT_OK && measured < GT_CLASSES) {
    gt_problem one = gt_problem_of_class(problem, measured);
    status = measure_problem(workshop, &one, r, timing, &classes[measured++], error);
    if (status == GT_OK && classes[measured - 1].trial.outcome != GT_OUTCOME_OK) break;
  }
  gt_recheck *last = &classes[measured - 1];
  if (status == GT_OK && last->trial.outcome == GT_OUTCOME_OK) {
    gt_trial *trial = &last->trial;
    for (int k = 0; k < GT_CLASSES; k++) {
      if (classes[k].trial.n_samples < trial->n_samples) trial->n_samples = classes[k].trial.n_samples;
      trial->noisy = trial->noisy || classes[k].trial.noisy;
    }
    for (size_t i = 0; i < trial->n_samples; i++) {
      double us[GT_CLASSES];
      for (int k = 0; k < GT_CLASSES; k++) us[k] = classes[k].trial.samples_us[i];
      trial->samples_us[i] = gt_time_everywhere(us, GT_CLASSES);
    }
    double median = mean(classes, median_of), spread = mean(classes, spread_of), standard = mean(classes, default_of);
    trial->median_us = median;
    trial->spread_us = spread;
    last->default_us = standard;
  }
  for (int k = 0; k + 1 < measured; k++) gt_trial_free(&classes[k].trial);
  *recheck = *last;
  return status;
}

gt_status gt_recheck_winner(gt_generator *generator, gt_workshop *workshop, gt_cache *cache,
                            const gt_problem *problem, const gt_timing_options *timing, gt_recheck *recheck,
                            gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(workshop);
  runners r = {.count = 1};
  *recheck = (gt_recheck){0};
  gt_status status = gt_cache_get_winner(cache, device, problem, true, &r.winner, error);
  if (status == GT_OK) status = take_winner(generator, workshop, problem, &r, error);
  if (status == GT_OK) status = take_default(generator, workshop, problem, &r, error);
  if (status == GT_OK)
    status = (gt_has_classes(problem) ? measure_classes : measure_problem)(workshop, problem, &r, timing, recheck, error);
  if (status == GT_OK) {
    recheck->stored_us = r.winner.median_us;
    recheck->stored_default_us = r.winner.default_us;
    status = gt_cache_put_recheck(cache, device, problem, recheck, error);
  }
  gt_workshop_forget(workshop);
  free_runners(&r);
  return status;
}

gt_drift gt_recheck_drift(const gt_recheck *recheck) {
  const gt_trial *now = &recheck->trial;
  if (now->outcome != GT_OUTCOME_OK || now->median_us <= 0) return GT_DRIFT_FAILED;
  if (recheck->default_us > 0 && now->median_us > (1 + GT_CHOOSE_MARGIN) * recheck->default_us)
    return GT_DRIFT_LOST;
  // The stored median is taken to be as uncertain as the present one.
  double noise = 2 * sqrt(2.0) * gt_median_error(now->spread_us, now->n_samples);
  double change = now->median_us - recheck->stored_us;
  if (fabs(change) <= noise || fabs(change) <= GT_CHOOSE_MARGIN * recheck->stored_us) return GT_DRIFT_NONE;
  return change < 0 ? GT_DRIFT_FASTER : GT_DRIFT_SLOWER;
}

const char *gt_drift_name(gt_drift drift) {
  static const char *const names[] = {"steady", "faster", "slower", "slower than plain", "failed"};
  return names[drift];
}
