// Which devices of a run are of one kind, and which problems are whose.
#ifndef GT_CLI_TUNE_POOLS_H
#define GT_CLI_TUNE_POOLS_H

#include "cli/tune_run.h"

// Sorts the devices, whose fingerprints are known, into pools, and makes a row for each problem in each pool.
void gt_tune_pools_make(gt_tune_run *run);
// By what the devices' caches have: rows whose stored winner is stale come first; a row of which one device of
// several has the most trials is that device's, unless trials are made again anyway.
gt_status gt_tune_pools_order(gt_tune_run *run, gt_error *error);

#endif
