// The end of a tuning run: what was found, and what it is worth.
#ifndef GT_CLI_TUNE_REPORT_H
#define GT_CLI_TUNE_REPORT_H

#include <jansson.h>

#include "cli/tune_run.h"

void gt_tune_report_print(const gt_tune_run *run);      // as tables
json_t *gt_tune_report_json(const gt_tune_run *run);    // all of it
json_t *gt_tune_row_json(const gt_tune_row *row);       // one problem
json_t *gt_tune_devices_json(const gt_tune_run *run);   // a list
json_t *gt_tune_value_json(const gt_tune_run *run);     // of tuning: an object for each pool of devices

#endif
