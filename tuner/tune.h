// Tuning: tries configurations of a problem's search spaces on a device, keeps every trial in the cache, and
// chooses the winner.
#ifndef GT_TUNER_TUNE_H
#define GT_TUNER_TUNE_H

#include "cache/cache.h"
#include "generator/generator.h"
#include "tuner/workshop.h"

typedef struct {
  const char *families; // comma list; NULL: every candidate that claims the problem, and no baseline
  int budget;           // most trials per problem (those already in the cache count too); 0: 400
  const char *strategy; // of the search; NULL: exhaustive when the budget allows it, else bayes
  uint64_t seed;        // of the search's choices
  bool retry;           // also tries again what is in the cache
  gt_timing_options timing;
} gt_tune_options;
void gt_tune_defaults(gt_tune_options *options);

// What a tuning run tells while it runs. All pointers are valid during the call only.
typedef struct {
  const gt_problem *problem;
  size_t class, classes; // which class of positions it is, from 1, of those that are tuned one after the other; 0: of none
  size_t done, total;   // trials of this problem
  size_t failed;        // of those done
  size_t rejected;      // of those done: right, but given up as too slow before their time was steady
  const gt_trial *last; // NULL before the first
  bool last_rejected;
  bool cached;          // the last trial came from the cache
  const char *best;     // configuration, NULL while there is none
  double best_us, default_us, stream_us;
  double seconds_left; // estimate, further classes included, < 0 unknown
  double device_busy;  // share of the time so far in which the device had work, < 0 before this run's first trial
} gt_tune_progress;

// The outcome for one problem.
typedef struct {
  char *configuration; // winner, NULL for an empty problem or when nothing was right
  double best_us, best_spread_us, default_us, stream_us;
  // What a program gets that looks up a problem of which nothing is tuned: the default by rule. Its time is 0, and
  // the text NULL, when it was not timed. Never less than best_us: the winner is the faster of them in a final. (Of a problem that is tuned for
  // classes of positions it may be: there the largest regret decides, not the mean time.)
  char *untuned;
  double untuned_us;
  bool noisy;   // the winner's samples were not steady
  gt_tie *ties; // that were as fast as the winner, as in gt_winner
  size_t n_ties;
  char *repeating; // the winner, or where its results do not repeat the best that was tried whose do (tuner/repeat.h); NULL: none
  double repeating_us;
  size_t tried, failed, cached, rejected; // trials
  size_t quarantined;           // of all, those not tried since they crashed or hung before
  size_t duplicates;            // of those tried, with kernels that another one had: not timed again
  size_t compiled, reused;      // sources; code objects that were kept from earlier runs
  // Of this run's own trials and final, 0 when there were none: from the first trial on; that in which the
  // device had work; that in which it waited for a compiler.
  double seconds, device_seconds, compile_wait_seconds;
  size_t space; // configurations in the search space
  bool empty;   // n = 0 or c = 0: nothing to launch
  char *stale;  // configuration of the stored winner if that was stale (tuner/stale.h), else NULL
  bool stale_refused;       // the templates do not have that configuration any more
  bool stale_tried;         // it was tried, before all others
  gt_outcome stale_outcome; // what came of that
  char *note; // what the user should know about the times, such as that they are of a part of the problem; or
              // NULL
} gt_tuned;
void gt_tuned_free(gt_tuned *tuned);

// Tunes one problem. A stored winner that is stale is tried before all others, as the present templates and
// compiler make it, and at once takes its own place if it is right, so that a run that ends early has verified
// it; what came of it is kept as a check of a stale winner (cache/cache.h). Configurations that come up are
// compiled while the device works on others; they are tried in one order whatever compiling takes. A kill loses
// the trial on the device. Keeps what was measured when interrupted (GT_INTERRUPTED). GT_FAILED when no
// configuration gave a right result.
gt_status gt_tune(gt_generator *generator, gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                  const gt_tune_options *options, void (*progress)(void *context, const gt_tune_progress *),
                  void *context, gt_tuned *tuned, gt_error *error);

#endif
