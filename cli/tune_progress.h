// How far a tuning run is, on standard error: on a terminal a line for each device that is at work, elsewhere some lines
// for each problem. Everything under the run's lock.
#ifndef GT_CLI_TUNE_PROGRESS_H
#define GT_CLI_TUNE_PROGRESS_H

#include "cli/tune_run.h"

void gt_tune_progress_begin(gt_tune_device *device); // its row is set
// Tells a failed trial, too, with the line that repeats it; of many, the first few.
void gt_tune_progress_show(gt_tune_device *device, const gt_tune_progress *now);
void gt_tune_progress_end(gt_tune_device *device); // of its row

#endif
