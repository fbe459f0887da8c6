// What is known of configurations whose results repeat: the same bits in every run. Who asks for these gets the fastest of them, also where
// another configuration won.
#ifndef GT_TUNER_REPEAT_H
#define GT_TUNER_REPEAT_H

#include "cache/cache.h"
#include "generator/generator.h"

// The best configuration of a candidate family, among a cache's trials of the problem on the GPU model of
// `device`, that is legal on the device and whose results repeat; its time and spread, in microseconds. Of a
// problem that says nothing of its positions, and has no trials of its own unless it is tuned for a given
// grid (tuner/classes.h): among what was timed on every class of positions, the one whose largest regret is
// the least, and the geometric means of its times and spreads. *configuration is a new string. GT_NOT_FOUND
// when nothing like this was tried.
gt_status gt_repeat_best(gt_generator *generator, gt_cache *cache, const gt_fingerprint *device,
                         const gt_problem *problem, char **configuration, double *us, double *spread_us,
                         gt_error *error);

#endif
