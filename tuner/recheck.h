// Winners once more: whether they are still right, and how their times drift.
#ifndef GT_TUNER_RECHECK_H
#define GT_TUNER_RECHECK_H

#include "cache/cache.h"
#include "generator/generator.h"
#include "tuner/workshop.h"

// Checks the stored winner's kernels, times them interleaved with the default's, and keeps that in the cache
// as a recheck; the winner and its times stay as they are. What is run is the stored code object where the
// winner's template has changed since. The caller frees recheck->trial. GT_NOT_FOUND when there is no winner.
gt_status gt_recheck_winner(gt_generator *generator, gt_workshop *workshop, gt_cache *cache,
                            const gt_problem *problem, const gt_timing_options *timing, gt_recheck *recheck,
                            gt_error *error);

typedef enum {
  GT_DRIFT_NONE,   // within 3 %, or within the noise
  GT_DRIFT_FASTER, // than it was
  GT_DRIFT_SLOWER,
  GT_DRIFT_LOST,   // slower than the default beside it: to be tuned again
  GT_DRIFT_FAILED, // no right result any more
} gt_drift;
gt_drift gt_recheck_drift(const gt_recheck *recheck);
const char *gt_drift_name(gt_drift drift); // "steady", "faster", "slower", "slower than the default", "failed"

#endif
