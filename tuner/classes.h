// Tuning where the speed depends on data: a grid operator's on where its samples lie.
#ifndef GT_TUNER_CLASSES_H
#define GT_TUNER_CLASSES_H

#include "tuner/positions.h"
#include "tuner/tune.h"

// As gt_tune, for such a problem: tunes it for each class of grids (the winners of these problems, which have `grid=`
// in their texts, are stored as well), times every class's winner, its ties, the best whose results repeat and the default by rule on all
// classes, and stores as the problem's winner the one whose largest regret, its time over the best one's of a class, is the least. Times are
// geometric means over the classes.
gt_status gt_tune_classes(gt_generator *generator, gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                          const gt_tune_options *options, void (*progress)(void *context, const gt_tune_progress *),
                          void *context, gt_tuned *tuned, gt_error *error);

#endif
