// What is told of a trial.
#ifndef GT_CLI_TRIAL_H
#define GT_CLI_TRIAL_H

#include <jansson.h>

#include "cache/cache.h"

// Prints a trial: a line and, where it failed, why. `problem` is its text.
void gt_trial_print(const char *problem, const gt_trial *trial);
json_t *gt_trial_json(const gt_trial *trial);
json_t *gt_readings_json(const gt_readings *readings); // null for what is unknown
json_t *gt_winner_json(const gt_winner *winner);
json_t *gt_ties_json(const gt_tie *ties, size_t count);

// Tells a failed trial on standard error, and the command that reproduces it.
void gt_trial_complain(const char *problem, const char *device, const gt_trial *trial);

#endif
