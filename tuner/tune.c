#include "tuner/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "generator/default.h"
#include "tuner/agenda.h"
#include "tuner/choose.h"
#include "tuner/keep.h"
#include "tuner/pipeline.h"
#include "tuner/stale.h"
#include "tuner/timing.h"

#define DEFAULT_BUDGET 400
#define LOOK_AHEAD 32    // trials that are compiled ahead
#define LEARNING_AHEAD 16 // the same where the search goes by results
#define FINALISTS 5      // beside the default and the stored winner

typedef struct {
  gt_generator *generator;
  gt_workshop *workshop;
  gt_cache *cache;
  const gt_problem *problem;
  const gt_tune_options *options;
  void (*progress)(void *context, const gt_tune_progress *);
  void *context;
  gt_tuned *tuned;
  const gt_fingerprint *device;

  gt_winner incumbent; // the stored winner; zeroed: there is none that could still win
  bool verifies;       // it is stale, and first on the agenda
  gt_agenda agenda;
  gt_trial *trials;   // one per item of the agenda that is done
  size_t done, fresh; // fresh: not from the cache
  gt_pipeline *pipeline;
  gt_pending *pending;
  int best;                              // fastest candidate so far, -1: none
  double best_us, default_us, stream_us; // 0 while unknown
  double fresh_seconds;
  double device_before; // gt_workshop_device_seconds
  size_t failed, rejected; // of all
} tuning;

void gt_tune_defaults(gt_tune_options *options) {
  *options = (gt_tune_options){.budget = DEFAULT_BUDGET};
  gt_timing_defaults(&options->timing);
}

void gt_tuned_free(gt_tuned *tuned) {
  free(tuned->configuration);
  free(tuned->untuned);
  free(tuned->note);
  free(tuned->stale);
  free(tuned->repeating);
  for (size_t i = 0; i < tuned->n_ties; i++) free(tuned->ties[i].configuration);
  free(tuned->ties);
  *tuned = (gt_tuned){0};
}

static gt_status render(const tuning *t, const char *configuration, gt_variant *variant, gt_error *error) {
  return gt_render(t->generator, configuration, t->problem, t->device, variant, error);
}

static void tell(tuning *t, const gt_trial *last, bool cached) {
  if (!t->progress) return;
  double start = gt_pipeline_time(t->pipeline).start, device = gt_workshop_device_seconds(t->workshop);
  gt_tune_progress now = {.problem = t->problem,
                          .done = t->done,
                          .total = t->agenda.count,
                          .failed = t->failed,
                          .rejected = t->rejected,
                          .last = last,
                          .last_rejected = last && gt_timing_rejected(&t->options->timing, last),
                          .cached = cached,
                          .best = t->best >= 0 ? t->trials[t->best].configuration : NULL,
                          .best_us = t->best_us,
                          .default_us = t->default_us,
                          .stream_us = t->stream_us,
                          .seconds_left = -1,
                          .device_busy = -1};
  if (start > 0) now.device_busy = (device - t->device_before) / (gt_seconds() - start);
  if (t->fresh) now.seconds_left = t->fresh_seconds / (double)t->fresh * (double)(t->agenda.count - t->done);
  t->progress(t->context, &now);
}

static void count_trial(tuning *t, const gt_agenda_item *item, const gt_trial *trial, bool cached) {
  bool ok = gt_trial_is_timed(trial);
  if (ok && item->bound && (t->stream_us == 0 || trial->median_us < t->stream_us))
    t->stream_us = trial->median_us;
  if (ok && item->configuration == t->agenda.standard) t->default_us = trial->median_us;
  if (ok && item->candidate && (t->best < 0 || trial->median_us < t->best_us)) {
    t->best = (int)(trial - t->trials);
    t->best_us = trial->median_us;
  }
  bool rejected = gt_timing_rejected(&t->options->timing, trial);
  t->failed += trial->outcome != GT_OUTCOME_OK;
  t->rejected += rejected;
  t->tuned->quarantined +=
      cached && (trial->outcome == GT_OUTCOME_CRASH || trial->outcome == GT_OUTCOME_TIMEOUT);
  if (!item->candidate) return;
  t->tuned->tried++;
  t->tuned->failed += trial->outcome != GT_OUTCOME_OK;
  t->tuned->cached += cached;
  t->tuned->rejected += rejected;
}

static gt_status put_winner(tuning *t, const gt_variant *variant, const gt_trial *trial, gt_error *error) {
  const gt_winner times = {.median_us = trial->median_us,
                           .spread_us = trial->spread_us,
                           .default_us = t->default_us,
                           .stream_us = t->stream_us,
                           .ties = t->tuned->ties,
                           .n_ties = t->tuned->n_ties};
  return gt_keep_winner(t->workshop, t->cache, t->problem, variant, &times, error);
}

// The stale winner's trial was made: it is kept as a check, and if it is right takes the stale one's place. It
// goes on being the incumbent then, whom others must clearly beat.
static gt_status take_verified(tuning *t, const gt_trial *trial, gt_error *error) {
  gt_stale_check check = {.configuration = trial->configuration, // borrowed, as is the message
                          .outcome = trial->outcome,
                          .message = trial->message};
  memcpy(check.source_hash, trial->source_hash, sizeof check.source_hash);
  t->tuned->stale_tried = true;
  t->tuned->stale_outcome = trial->outcome;
  gt_status status = gt_cache_put_stale_check(t->cache, t->device, t->problem, &check, error);
  if (status != GT_OK || !gt_trial_is_timed(trial)) return status;
  gt_variant variant = {0};
  status = render(t, trial->configuration, &variant, error);
  if (status == GT_OK) status = put_winner(t, &variant, trial, error);
  if (status == GT_COMPILE) status = GT_OK; // the trial is an earlier run's: the final looks again
  gt_variant_free(&variant);
  memcpy(t->incumbent.variant.source_hash, trial->source_hash, sizeof trial->source_hash);
  return status;
}

static gt_status try_all(tuning *t, gt_error *error) {
  tell(t, NULL, false);
  while (t->done < t->agenda.count) {
    gt_trial *trial = &t->trials[t->done];
    gt_trial_origin origin;
    double start = gt_seconds();
    gt_status status = gt_pipeline_next(t->pipeline, &origin, error);
    if (status == GT_OK && origin != GT_TRIAL_CACHED) {
      status = gt_cache_put_trial(t->cache, t->device, t->problem, trial, error);
      t->fresh++;
      t->fresh_seconds += gt_seconds() - start;
    }
    if (status != GT_OK) return status;
    const gt_agenda_item *item = gt_agenda_get(&t->agenda, t->done);
    gt_agenda_report(&t->agenda, t->done++, gt_trial_is_timed(trial) ? trial->median_us : INFINITY);
    t->tuned->duplicates += item->candidate && origin == GT_TRIAL_DUPLICATED;
    count_trial(t, item, trial, origin == GT_TRIAL_CACHED);
    if (t->verifies && t->done == 1) status = take_verified(t, trial, error);
    if (status != GT_OK) return status;
    tell(t, trial, origin == GT_TRIAL_CACHED);
  }
  return GT_OK;
}

// --- the final
// -----------------------------------------------------------------------------------------------

// Those that are timed once more side by side. Their trials are copies that share nothing but the texts with
// t->trials.
typedef struct {
  size_t count;
  size_t index[FINALISTS + 2]; // in t->trials
  gt_trial trials[FINALISTS + 2];
  gt_variant variants[FINALISTS + 2];
  bool may_win[FINALISTS + 2];
  int incumbent; // among them, -1: none
} final_round;

// Whether another trial that may win is of the very same kernels.
static bool is_duplicate(const tuning *t, size_t index) {
  char *original = gt_trial_duplicate_of(&t->trials[index]);
  bool found = false;
  for (size_t i = 0; original && i < t->done; i++)
    found = found || (t->agenda.items[i].candidate && strcmp(t->trials[i].configuration, original) == 0);
  free(original);
  return found;
}

static void add_finalist(const tuning *t, final_round *final, size_t index) {
  for (size_t i = 0; i < final->count; i++)
    if (final->index[i] == index) return;
  const gt_trial *from = &t->trials[index];
  if (from->outcome != GT_OUTCOME_OK || from->median_us <= 0) return;
  size_t n = final->count++;
  final->index[n] = index;
  final->may_win[n] = t->agenda.items[index].candidate;
  final->trials[n] = *from;
  final->trials[n].message = NULL;
  final->trials[n].samples_us = NULL;
  final->trials[n].configuration = gt_strdup(from->configuration);
}

static void choose_finalists(const tuning *t, final_round *final) {
  const gt_winner *incumbent = &t->incumbent;
  final->incumbent = -1;
  for (size_t i = 0; i < t->done; i++) {
    const char *configuration = t->agenda.items[i].configuration;
    if (incumbent->variant.configuration && strcmp(configuration, incumbent->variant.configuration) == 0 &&
        strcmp(t->trials[i].source_hash, incumbent->variant.source_hash) == 0) {
      add_finalist(t, final, i);
      if (final->count) final->incumbent = (int) final->count - 1;
    }
  }
  // The best few, one after the other.
  for (size_t n = 0; n < FINALISTS; n++) {
    double next_us = 0;
    size_t next = t->done;
    for (size_t i = 0; i < t->done; i++) {
      bool taken = false;
      for (size_t k = 0; k < final->count; k++) taken = taken || final->index[k] == i;
      if (taken || !t->agenda.items[i].candidate || t->trials[i].outcome != GT_OUTCOME_OK) continue;
      double us = t->trials[i].median_us;
      if (us > 0 && (next == t->done || us < next_us) && !is_duplicate(t, i)) {
        next = i;
        next_us = us;
      }
    }
    if (next == t->done) break;
    add_finalist(t, final, next);
  }
  for (size_t i = 0; i < t->done; i++)
    if (t->agenda.items[i].configuration == t->agenda.standard) add_finalist(t, final, i);
}

// The time of the default by rule, if it is among these trials.
static void note_untuned(tuning *t, const gt_trial *trials, size_t count) {
  char *configuration = NULL;
  if (gt_default_configuration(t->generator, t->problem, t->device, &configuration, NULL) != GT_OK) return;
  for (size_t i = 0; i < count; i++) {
    if (!gt_trial_is_timed(&trials[i]) || strcmp(trials[i].configuration, configuration) != 0) continue;
    free(t->tuned->untuned);
    t->tuned->untuned = gt_strdup(configuration);
    t->tuned->untuned_us = trials[i].median_us;
  }
  free(configuration);
}

static void report(tuning *t, const char *configuration, double best_us, double spread_us) {
  free(t->tuned->configuration);
  t->tuned->configuration = configuration ? gt_strdup(configuration) : NULL;
  t->tuned->best_us = best_us;
  t->tuned->best_spread_us = spread_us;
  t->tuned->default_us = t->default_us;
  t->tuned->stream_us = t->stream_us;
}

static void take_ties(gt_tuned *tuned, const final_round *final, int winner) {
  size_t ties[FINALISTS + 2], count = gt_choose_ties(final->trials, final->count, winner, ties);
  tuned->ties = gt_alloc((count + 1) * sizeof *tuned->ties);
  for (size_t i = 0; i < count; i++) {
    const gt_trial *trial = &final->trials[ties[i]];
    tuned->ties[tuned->n_ties++] =
        (gt_tie){gt_strdup(trial->configuration), trial->median_us, trial->registers};
  }
}

// Times the finalists side by side and stores the winner.
static gt_status run_final(tuning *t, gt_error *error) {
  final_round final = {0};
  gt_status status = GT_OK;
  choose_finalists(t, &final);
  for (size_t i = 0; i < final.count && status == GT_OK; i++)
    status = render(t, final.trials[i].configuration, &final.variants[i], error);
  if (status == GT_OK && final.count > 1) {
    status = gt_pipeline_prepare(t->pipeline, error);
    if (status == GT_OK)
      status = gt_workshop_retime(t->workshop, final.variants, final.count, &t->options->timing, final.trials,
                                  error);
    // A worker that dies over this leaves the times of the trials, which are good enough to choose by.
    if (status == GT_CRASH || status == GT_TIMEOUT) status = GT_OK;
  }
  if (status != GT_OK) goto done;

  note_untuned(t, final.trials, final.count);
  for (size_t i = 0; i < final.count; i++) {
    if (t->agenda.items[final.index[i]].configuration == t->agenda.standard)
      t->default_us = final.trials[i].median_us;
    if (!final.may_win[i]) final.trials[i].median_us = 0;
  }
  int winner = gt_choose(final.trials, final.count, final.incumbent);
  if (winner < 0) {
    report(t, NULL, 0, 0);
    status = gt_fail(error, GT_FAILED, "none of %zu configurations gave a right result", t->tuned->tried);
    goto done;
  }
  report(t, final.trials[winner].configuration, final.trials[winner].median_us,
         final.trials[winner].spread_us);
  t->tuned->noisy = final.trials[winner].noisy;
  take_ties(t->tuned, &final, winner);
  status = put_winner(t, &final.variants[winner], &final.trials[winner], error);

done:
  for (size_t i = 0; i < final.count; i++) {
    gt_trial_free(&final.trials[i]);
    gt_variant_free(&final.variants[i]);
  }
  return status;
}

// Whether the stored winner says all that a final could: nothing new was tried, and it is one of what was
// tried.
static bool is_settled(const tuning *t) {
  const gt_winner *incumbent = &t->incumbent;
  if (t->fresh || t->verifies || !incumbent->variant.configuration) return false;
  for (size_t i = 0; i < t->done; i++)
    if (strcmp(t->trials[i].configuration, incumbent->variant.configuration) == 0)
      return t->trials[i].outcome == GT_OUTCOME_OK &&
             strcmp(t->trials[i].source_hash, incumbent->variant.source_hash) == 0;
  return false;
}

// The stored winner, if it can be read and still be rendered, and whether it is stale.
static gt_status find_incumbent(tuning *t, gt_error *error) {
  gt_staleness staleness;
  gt_status status = gt_cache_get_winner(t->cache, t->device, t->problem, false, &t->incumbent, error);
  if (status == GT_NOT_FOUND || status == GT_CORRUPT) return GT_OK;
  if (status != GT_OK) return status;
  bool judged =
      gt_staleness_of(t->generator, t->device, t->problem, &t->incumbent, &staleness, NULL) == GT_OK;
  if (judged && gt_staleness_any(&staleness)) {
    t->tuned->stale = gt_strdup(t->incumbent.variant.configuration);
    t->tuned->stale_refused = staleness.refused;
    t->verifies = !staleness.refused;
  }
  if (!judged || staleness.refused) gt_winner_free(&t->incumbent);
  gt_staleness_free(&staleness);
  return GT_OK;
}

// Has the device prepare the problem while the search space is enumerated. Not where trials are stored already: those
// may be all there is to do.
static void begin_early(const tuning *t) {
  size_t stored = 0;
  if (!t->options->retry && (gt_cache_count_trials(t->cache, t->device, t->problem, &stored, NULL) != GT_OK || stored))
    return;
  gt_workshop_begin_problem(t->workshop, t->problem);
}

gt_status gt_tune(gt_generator *generator, gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                  const gt_tune_options *options, void (*progress)(void *context, const gt_tune_progress *),
                  void *context, gt_tuned *tuned, gt_error *error) {
  *tuned = (gt_tuned){0};
  if (problem->n == 0 || problem->c == 0) {
    tuned->empty = true;
    return GT_OK;
  }
  tuning t = {.generator = generator,
              .workshop = workshop,
              .cache = cache,
              .problem = problem,
              .options = options,
              .progress = progress,
              .context = context,
              .tuned = tuned,
              .device = gt_workshop_fingerprint(workshop),
              .best = -1};
  size_t budget = options->budget > 0 ? (size_t)options->budget : DEFAULT_BUDGET;
  gt_compilers_counts before = gt_workshop_compile_counts(workshop), after;
  gt_status status = gt_pending_recover(cache, error);
  if (status == GT_OK) status = find_incumbent(&t, error);
  if (status == GT_OK) begin_early(&t);
  if (status == GT_OK)
    status = gt_agenda_make(generator, cache, problem, t.device,
                            &(gt_agenda_options){.families = options->families,
                                                 .strategy = options->strategy,
                                                 .budget = budget,
                                                 .seed = options->seed,
                                                 .retry = options->retry,
                                                 .incumbent = t.incumbent.variant.configuration,
                                                 .incumbent_first = t.verifies},
                            &t.agenda, error);
  if (status != GT_OK) goto done;
  tuned->space = t.agenda.space;
  t.trials = gt_alloc(t.agenda.count * sizeof *t.trials);
  t.device_before = gt_workshop_device_seconds(workshop);
  t.pending = gt_pending_open(cache);
  t.pipeline = gt_pipeline_open(
      &(gt_pipeline_options){.generator = generator,
                             .workshop = workshop,
                             .cache = cache,
                             .problem = problem,
                             .agenda = &t.agenda,
                             .timing = &options->timing,
                             .ahead = gt_search_learns(t.agenda.search) ? LEARNING_AHEAD : LOOK_AHEAD,
                             .retry = options->retry,
                             .pending = t.pending,
                             .trials = t.trials});
  status = try_all(&t, error);
  note_untuned(&t, t.trials, t.done);
  if (status != GT_OK) {
    report(&t, NULL, 0, 0);
  } else if (is_settled(&t)) {
    gt_winner *settled = &t.incumbent;
    if (settled->default_us > 0) t.default_us = settled->default_us;
    if (settled->stream_us > 0) t.stream_us = settled->stream_us;
    report(&t, settled->variant.configuration, settled->median_us, settled->spread_us);
    tuned->ties = settled->ties;
    tuned->n_ties = settled->n_ties;
    settled->ties = NULL;
    settled->n_ties = 0;
  } else {
    status = run_final(&t, error);
  }
  if (status == GT_OK) status = gt_keep_repeating(generator, workshop, cache, problem, tuned, error);
  bool is_winner = tuned->untuned && tuned->configuration && strcmp(tuned->untuned, tuned->configuration) == 0;
  if (tuned->untuned && (is_winner || tuned->untuned_us < tuned->best_us)) tuned->untuned_us = tuned->best_us;
  gt_pipeline_times times = gt_pipeline_time(t.pipeline);
  after = gt_workshop_compile_counts(workshop);
  tuned->compiled = after.compiled - before.compiled;
  tuned->reused = after.reused - before.reused;
  tuned->seconds = times.start > 0 ? gt_seconds() - times.start : 0;
  tuned->device_seconds = gt_workshop_device_seconds(workshop) - t.device_before;
  tuned->compile_wait_seconds = times.waited;
  if (times.prepared && *gt_workshop_note(workshop)) tuned->note = gt_strdup(gt_workshop_note(workshop));

done:
  gt_pipeline_close(t.pipeline);
  gt_pending_close(t.pending);
  gt_workshop_forget(workshop);
  for (size_t i = 0; i < t.agenda.count; i++) gt_trial_free(&t.trials[i]);
  free(t.trials);
  gt_agenda_free(&t.agenda);
  gt_winner_free(&t.incumbent);
  return status;
}
