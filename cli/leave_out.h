// Rating the lookup of problems that were not tuned on those that were.
#ifndef GT_CLI_LEAVE_OUT_H
#define GT_CLI_LEAVE_OUT_H

#include "runtime/lookup.h"

// Looks up every problem that was tuned on the model as if it and those with the same kernels had not been,
// and prints how much slower than its fastest trial the chosen configuration's trial is, and for comparison
// the default's by rule and direct's. GT_NOT_FOUND when nothing was tuned.
gt_status gt_leave_one_out(gt_finder *finder, const gt_layers *layers, const gt_fingerprint *device,
                           bool json, gt_error *error);

#endif
