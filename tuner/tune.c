#include "tuner/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tuner/agenda.h"
#include "tuner/choose.h"
#include "tuner/timing.h"

#define DEFAULT_BUDGET 400
#define FINALISTS 5     // beside the default and the stored winner
#define DROP_FACTOR 2.0 // candidates this much slower than the best so far are timed only briefly

// A code object that is kept since its trial is among the best so far.
typedef struct {
  size_t trial;
  gt_buffer code;
} kept_code;

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

  gt_agenda agenda;
  gt_trial *trials;                      // one per item of the agenda that is done
  size_t done, fresh;                    // fresh: not from the cache
  bool prepared;                         // the workshop knows the problem
  int best;                              // fastest candidate so far, -1: none
  double best_us, default_us, stream_us; // 0 while unknown
  kept_code kept[FINALISTS];
  size_t n_kept;
  double fresh_seconds;
} tuning;

void gt_tune_defaults(gt_tune_options *options) {
  *options = (gt_tune_options){.budget = DEFAULT_BUDGET};
  gt_timing_defaults(&options->timing);
}

void gt_tuned_free(gt_tuned *tuned) {
  free(tuned->configuration);
  free(tuned->note);
  *tuned = (gt_tuned){0};
}

static gt_status render(const tuning *t, const char *configuration, gt_variant *variant, gt_error *error) {
  return gt_render(t->generator, configuration, t->problem, t->device, variant, error);
}

// Gives the problem to the workshop when the first trial needs it: a run that finds everything in the cache
// never does.
static gt_status prepare(tuning *t, gt_error *error) {
  if (t->prepared) return GT_OK;
  gt_variant direct = {0};
  gt_status status = t->agenda.standard ? render(t, t->agenda.standard, &direct, error) : GT_OK;
  if (status == GT_OK)
    status = gt_workshop_problem(t->workshop, t->problem, t->agenda.standard ? &direct : NULL, error);
  gt_variant_free(&direct);
  t->prepared = status == GT_OK;
  if (t->prepared && *gt_workshop_note(t->workshop))
    t->tuned->note = gt_strdup(gt_workshop_note(t->workshop));
  return status;
}

// Keeps the code object of a trial while it is among the fastest.
static void keep_code(tuning *t, size_t trial, gt_buffer *code) {
  size_t slot = t->n_kept;
  if (t->n_kept == FINALISTS) {
    slot = 0;
    for (size_t i = 1; i < FINALISTS; i++)
      if (t->trials[t->kept[i].trial].median_us > t->trials[t->kept[slot].trial].median_us) slot = i;
    if (t->trials[t->kept[slot].trial].median_us <= t->trials[trial].median_us) return;
    gt_buffer_free(&t->kept[slot].code);
  } else {
    t->n_kept++;
  }
  t->kept[slot] = (kept_code){trial, *code};
  *code = (gt_buffer){0};
}

// Makes or finds one trial.
static gt_status do_trial(tuning *t, const gt_agenda_item *item, gt_trial *trial, bool *cached,
                          gt_error *error) {
  gt_variant variant = {0};
  gt_buffer code = {0};
  *cached = false;
  gt_status status = render(t, item->configuration, &variant, error);
  if (status == GT_OK && !t->options->retry) {
    status = gt_cache_get_trial(t->cache, t->device, t->problem, item->configuration, trial, error);
    *cached = status == GT_OK && strcmp(trial->source_hash, variant.source_hash) == 0;
    if (status == GT_OK && !*cached) gt_trial_free(trial); // of another version of the template
    if (status == GT_NOT_FOUND) status = GT_OK;
  }
  if (status == GT_OK && !*cached) {
    double start = gt_seconds();
    gt_timing_options timing = t->options->timing;
    if (item->candidate && t->best >= 0 && item->configuration != t->agenda.standard)
      timing.drop_us = DROP_FACTOR * t->best_us;
    status = prepare(t, error);
    if (status == GT_OK)
      status = gt_workshop_trial(t->workshop, &variant, !item->bound, &timing, trial, &code, error);
    if (status == GT_OK) {
      t->fresh++;
      t->fresh_seconds += gt_seconds() - start;
      status = gt_cache_put_trial(t->cache, t->device, t->problem, trial, error);
      if (status != GT_OK) gt_trial_free(trial);
    }
  }
  if (status == GT_OK && item->candidate && trial->outcome == GT_OUTCOME_OK && code.length)
    keep_code(t, (size_t)(trial - t->trials), &code);
  gt_buffer_free(&code);
  gt_variant_free(&variant);
  return status;
}

static void tell(tuning *t, const gt_trial *last, bool cached) {
  if (!t->progress) return;
  size_t failed = 0;
  for (size_t i = 0; i < t->done; i++) failed += t->trials[i].outcome != GT_OUTCOME_OK;
  gt_tune_progress now = {.problem = t->problem,
                          .done = t->done,
                          .total = t->agenda.count,
                          .failed = failed,
                          .last = last,
                          .cached = cached,
                          .best = t->best >= 0 ? t->trials[t->best].configuration : NULL,
                          .best_us = t->best_us,
                          .default_us = t->default_us,
                          .stream_us = t->stream_us,
                          .seconds_left = -1};
  if (t->fresh) now.seconds_left = t->fresh_seconds / (double)t->fresh * (double)(t->agenda.count - t->done);
  t->progress(t->context, &now);
}

static bool is_timed(const gt_trial *trial) {
  return trial->outcome == GT_OUTCOME_OK && trial->median_us > 0;
}

static void count_trial(tuning *t, const gt_agenda_item *item, const gt_trial *trial, bool cached) {
  bool ok = is_timed(trial);
  if (ok && item->bound && (t->stream_us == 0 || trial->median_us < t->stream_us))
    t->stream_us = trial->median_us;
  if (ok && item->configuration == t->agenda.standard) t->default_us = trial->median_us;
  if (ok && item->candidate && (t->best < 0 || trial->median_us < t->best_us)) {
    t->best = (int)(trial - t->trials);
    t->best_us = trial->median_us;
  }
  if (!item->candidate) return;
  t->tuned->tried++;
  t->tuned->failed += trial->outcome != GT_OUTCOME_OK;
  t->tuned->cached += cached;
}

static gt_status try_all(tuning *t, gt_error *error) {
  tell(t, NULL, false);
  for (size_t i = 0; i < t->agenda.count; i++) {
    bool cached;
    gt_trial *trial = &t->trials[i];
    const gt_agenda_item *item = gt_agenda_get(&t->agenda, i);
    gt_status status = do_trial(t, item, trial, &cached, error);
    if (status != GT_OK) return status;
    t->done++;
    count_trial(t, item, trial, cached);
    gt_agenda_report(&t->agenda, i, is_timed(trial) ? trial->median_us : INFINITY);
    tell(t, trial, cached);
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

static void choose_finalists(const tuning *t, const gt_winner *incumbent, final_round *final) {
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
      if (us > 0 && (next == t->done || us < next_us)) {
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

// Code object of a trial: kept, or compiled once more.
static gt_status get_code(tuning *t, size_t trial, const char *source, gt_buffer *code, gt_error *error) {
  for (size_t i = 0; i < t->n_kept; i++)
    if (t->kept[i].trial == trial) {
      gt_buffer_append(code, t->kept[i].code.data, t->kept[i].code.length);
      return GT_OK;
    }
  gt_buffer log = {0};
  gt_status status =
      gt_workshop_compile(t->workshop, t->device->backend, t->device->arch, source, code, &log, error);
  gt_buffer_free(&log);
  return status;
}

static gt_status store_winner(tuning *t, final_round *final, int which, gt_error *error) {
  gt_buffer code = {0};
  gt_trial *trial = &final->trials[which];
  gt_status status = get_code(t, final->index[which], final->variants[which].source, &code, error);
  if (status == GT_OK) {
    char text[GT_PROBLEM_TEXT];
    gt_problem_print(t->problem, text);
    gt_winner winner = {.problem = text,
                        .variant = final->variants[which], // borrowed
                        .median_us = trial->median_us,
                        .spread_us = trial->spread_us,
                        .default_us = t->default_us,
                        .stream_us = t->stream_us,
                        .code = code.data,
                        .code_size = code.length};
    gt_hash(code.data, code.length, winner.code_hash);
    status = gt_cache_put_winner(t->cache, t->device, t->problem, &winner, error);
  }
  gt_buffer_free(&code);
  return status;
}

static void report(tuning *t, const char *configuration, double best_us, double spread_us) {
  free(t->tuned->configuration);
  t->tuned->configuration = configuration ? gt_strdup(configuration) : NULL;
  t->tuned->best_us = best_us;
  t->tuned->best_spread_us = spread_us;
  t->tuned->default_us = t->default_us;
  t->tuned->stream_us = t->stream_us;
}

// Times the finalists side by side and stores the winner.
static gt_status run_final(tuning *t, const gt_winner *incumbent, gt_error *error) {
  final_round final = {0};
  gt_status status = GT_OK;
  choose_finalists(t, incumbent, &final);
  for (size_t i = 0; i < final.count && status == GT_OK; i++)
    status = render(t, final.trials[i].configuration, &final.variants[i], error);
  if (status == GT_OK && final.count > 1) {
    status = prepare(t, error);
    if (status == GT_OK)
      status = gt_workshop_retime(t->workshop, final.variants, final.count, &t->options->timing, final.trials,
                                  error);
    // A worker that dies over this leaves the times of the trials, which are good enough to choose by.
    if (status == GT_CRASH || status == GT_TIMEOUT) status = GT_OK;
  }
  if (status != GT_OK) goto done;

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
  status = store_winner(t, &final, winner, error);

done:
  for (size_t i = 0; i < final.count; i++) {
    gt_trial_free(&final.trials[i]);
    gt_variant_free(&final.variants[i]);
  }
  return status;
}

// Whether the stored winner says all that a final could: nothing new was tried, and it is one of what was
// tried.
static bool is_settled(const tuning *t, const gt_winner *incumbent) {
  if (t->fresh || !incumbent->variant.configuration) return false;
  for (size_t i = 0; i < t->done; i++)
    if (strcmp(t->trials[i].configuration, incumbent->variant.configuration) == 0)
      return t->trials[i].outcome == GT_OUTCOME_OK &&
             strcmp(t->trials[i].source_hash, incumbent->variant.source_hash) == 0;
  return false;
}

// The stored winner, if it can be read and still be rendered: a later version's templates may not know its
// configuration.
static gt_status find_incumbent(const tuning *t, gt_winner *incumbent, gt_error *error) {
  gt_status status = gt_cache_get_winner(t->cache, t->device, t->problem, false, incumbent, error);
  if (status == GT_NOT_FOUND || status == GT_CORRUPT) return GT_OK;
  if (status != GT_OK) return status;
  gt_variant variant = {0};
  if (render(t, incumbent->variant.configuration, &variant, NULL) != GT_OK) gt_winner_free(incumbent);
  gt_variant_free(&variant);
  return GT_OK;
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
  gt_winner incumbent = {0};
  gt_status status = find_incumbent(&t, &incumbent, error);
  if (status == GT_OK)
    status = gt_agenda_make(generator, cache, problem, t.device,
                            &(gt_agenda_options){.families = options->families,
                                                 .strategy = options->strategy,
                                                 .budget = budget,
                                                 .seed = options->seed,
                                                 .retry = options->retry,
                                                 .incumbent = incumbent.variant.configuration},
                            &t.agenda, error);
  if (status != GT_OK) goto done;
  tuned->space = t.agenda.space;
  t.trials = gt_alloc(t.agenda.count * sizeof *t.trials);
  status = try_all(&t, error);
  if (status != GT_OK) {
    report(&t, NULL, 0, 0);
  } else if (is_settled(&t, &incumbent)) {
    if (incumbent.default_us > 0) t.default_us = incumbent.default_us;
    if (incumbent.stream_us > 0) t.stream_us = incumbent.stream_us;
    report(&t, incumbent.variant.configuration, incumbent.median_us, incumbent.spread_us);
  } else {
    status = run_final(&t, &incumbent, error);
  }

done:
  for (size_t i = 0; i < t.done; i++) gt_trial_free(&t.trials[i]);
  for (size_t i = 0; i < t.n_kept; i++) gt_buffer_free(&t.kept[i].code);
  free(t.trials);
  gt_agenda_free(&t.agenda);
  gt_winner_free(&incumbent);
  return status;
}
