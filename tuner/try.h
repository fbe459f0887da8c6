// One configuration, tried once.
#ifndef GT_TUNER_TRY_H
#define GT_TUNER_TRY_H

#include "generator/generator.h"
#include "tuner/workshop.h"

// Compiles, checks and times one configuration of a problem and fills *trial, which the caller frees. Nothing
// is stored. *prepared: whether the workshop has prepared the problem already; it has afterwards.
gt_status gt_try(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                 const char *configuration, const gt_timing_options *timing, bool *prepared, gt_trial *trial,
                 gt_error *error);

#endif
