// How a tuning run keeps its winner, and what else programs may ask for.
#ifndef GT_TUNER_KEEP_H
#define GT_TUNER_KEEP_H

#include "tuner/tune.h"
#include "tuner/workshop.h"

// Stores a variant, with its code object, as the winner of a problem on the workshop's device. `times` has its times and
// ties, which are borrowed. A failure of the compiler's when the variant does not compile again.
gt_status gt_keep_winner(gt_workshop *workshop, gt_cache *cache, const gt_problem *problem, const gt_variant *variant,
                         const gt_winner *times, gt_error *error);

// Fills tuned->repeating. Where that is not the winner, it is stored beside it, with its code object.
gt_status gt_keep_repeating(gt_generator *generator, gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                            gt_tuned *tuned, gt_error *error);

#endif
