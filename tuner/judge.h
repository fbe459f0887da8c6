// Judges the results of two runs of a variant on a thread of its own, while the device goes on: comparing
// takes the host longer than the device needs for the runs. The results are copied from the device first.
#ifndef GT_TUNER_JUDGE_H
#define GT_TUNER_JUDGE_H

#include <pthread.h>

#include "cache/cache.h"
#include "tuner/expected.h"

#define GT_JUDGE_BYTES ((int64_t)256 << 20) // of results at most: the host holds three copies

typedef struct {
  const gt_expected *expected; // borrowed
  void *results[2];            // all tensors of a run, one after the other; NULL until they were taken
  uint32_t poison[2];
  bool reproducible, is_running, has_thread;
  pthread_t thread;
  gt_outcome outcome;
  gt_buffer what;
} gt_judge;

// Whether a problem is small enough to be judged so.
bool gt_judge_can(const gt_bench *bench);
void gt_judge_open(const gt_expected *expected, gt_judge *judge);
void gt_judge_close(gt_judge *judge); // harmless on a zeroed one

// Copies the results of run 0 or 1 from a slot; `poison` is what they held before.
gt_status gt_judge_take(gt_judge *judge, int run, int slot, uint32_t poison, gt_error *error);

// Starts to judge both runs. `reproducible`: they must have the same bits.
void gt_judge_start(gt_judge *judge, bool reproducible);

// Waits for the judgement, if one was started: GT_OUTCOME_OK, GT_OUTCOME_WRONG_RESULT, or
// GT_OUTCOME_UNSTABLE_RESULT; `what` says why.
gt_outcome gt_judge_end(gt_judge *judge, gt_buffer *what);

#endif
