// Judges the results of two runs of a variant on a thread of its own, while the device goes on: comparing
// takes the host longer than the device needs for the runs. The results are copied from the device first; those of
// the first run are judged while the second one runs.
#ifndef GT_TUNER_JUDGE_H
#define GT_TUNER_JUDGE_H

#include <pthread.h>
#include <semaphore.h>

#include "cache/cache.h"
#include "tuner/expected.h"

#define GT_JUDGE_BYTES ((int64_t)256 << 20) // of results at most: the host holds three copies

typedef struct {
  const gt_expected *expected; // borrowed
  void *results[2];            // all tensors of a run, one after the other; NULL until they were taken
  uint32_t poison[2];
  bool reproducible, is_running, has_thread;
  bool has_second, told; // whether the second run's results came; whether the thread was told
  sem_t second;          // that it is told by
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

// Starts to judge run 0, whose results were taken.
void gt_judge_start(gt_judge *judge);
// Goes on with run 1, whose results were taken, too. `reproducible`: they must have the same bits.
void gt_judge_second(gt_judge *judge, bool reproducible);

// Waits for the judgement, if one was started: GT_OUTCOME_OK, GT_OUTCOME_WRONG_RESULT, or
// GT_OUTCOME_UNSTABLE_RESULT; `what` says why. It is that of run 0 alone if there was no other one.
gt_outcome gt_judge_end(gt_judge *judge, gt_buffer *what);

#endif
