// tune --json-lines: what happens while it happens, a JSON object a line on standard output. docs/tune-events.md lists
// events and fields. Nothing where that was not asked for. Under the run's lock, but for the first and the last.
#ifndef GT_CLI_TUNE_EVENTS_H
#define GT_CLI_TUNE_EVENTS_H

#include "cli/tune_run.h"

void gt_tune_event_run(const gt_tune_run *run);
void gt_tune_event_problem(const gt_tune_device *device); // begins
void gt_tune_event_trial(const gt_tune_device *device, const gt_tune_progress *now);
void gt_tune_event_result(const gt_tune_device *device, const gt_tune_row *row);
void gt_tune_event_lost(const gt_tune_device *device);
void gt_tune_event_end(const gt_tune_run *run);

#endif
