// How a tuning run keeps its winner.
#ifndef GT_TUNER_KEEP_H
#define GT_TUNER_KEEP_H

#include "tuner/workshop.h"

// Stores a variant, with its code object, as the winner of a problem on the workshop's device. `times` has its times and
// ties, which are borrowed. A failure of the compiler's when the variant does not compile again.
gt_status gt_keep_winner(gt_workshop *workshop, gt_cache *cache, const gt_problem *problem, const gt_variant *variant,
                         const gt_winner *times, gt_error *error);

#endif
