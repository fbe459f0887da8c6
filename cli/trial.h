// One configuration, tried once: what a failure's reproducing line runs.
#ifndef GT_CLI_TRIAL_H
#define GT_CLI_TRIAL_H

#include "generator/generator.h"
#include "tuner/workshop.h"

// Compiles, checks and times one configuration of a problem and fills *trial, which the caller frees. Nothing
// is stored.
gt_status gt_try(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                 const char *configuration, const gt_timing_options *timing, gt_trial *trial,
                 gt_error *error);

// Prints a trial: a line and, where it failed, why. `problem` is its text.
void gt_trial_print(const char *problem, const gt_trial *trial);
json_t *gt_trial_json(const gt_trial *trial);
json_t *gt_readings_json(const gt_readings *readings); // null for what is unknown
json_t *gt_winner_json(const gt_winner *winner);
json_t *gt_ties_json(const gt_tie *ties, size_t count);

// Tells a failed trial on standard error, and the command that reproduces it.
void gt_trial_complain(const char *problem, const char *device, const gt_trial *trial);

#endif
