// Runs search strategies against recorded times instead of a device.
#ifndef GT_TUNER_REPLAY_H
#define GT_TUNER_REPLAY_H

#include "tuner/points.h"
#include "tuner/score.h"

// A search space all of whose points have been tried.
typedef struct {
  char *name;
  gt_points points;
  double *times;    // of each point, in one unit; INFINITY: failed
  size_t room;      // in times
  double *expected; // as gt_search_options has it; NULL: nothing known
  size_t *first, n_first;
} gt_recording;

// Sets a point's time. A point that is recorded again keeps the better time.
void gt_recording_set(gt_recording *recording, size_t point, bool is_new, double time);
bool gt_recording_has_times(const gt_recording *recording); // whether any point did not fail
void gt_recording_free(gt_recording *recording);            // harmless on a zeroed one

#define GT_REPLAY_MARKS 5
extern const size_t gt_replay_marks[GT_REPLAY_MARKS]; // evaluations after which the best is looked at

typedef struct {
  const char *strategy;
  size_t seeds; // runs
  size_t ahead; // points that are asked for before the first of them is reported; 1: each is reported at once
} gt_replay_options;

typedef struct {
  double rate;                                                   // P (score.h)
  double median[GT_REPLAY_MARKS], worst_decile[GT_REPLAY_MARKS]; // optimum / best time, over the seeds
} gt_replay_result;

// Seeds are 1 … options->seeds; runs are shared out among the processors, which changes nothing in the
// result. GT_USAGE for an unknown strategy.
gt_status gt_replay(const gt_recording *recording, const gt_score *score, const gt_replay_options *options,
                    gt_replay_result *result, gt_error *error);

#endif
