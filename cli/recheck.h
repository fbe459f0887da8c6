// gathertune tune --recheck: winners timed once more, beside the default.
#ifndef GT_CLI_RECHECK_H
#define GT_CLI_RECHECK_H

#include <jansson.h>

#include "cache/cache.h"
#include "cli/suite.h"
#include "cli/table.h"
#include "generator/generator.h"
#include "tuner/workshop.h"

// Rechecks the winners of these problems, or where there are none all winners of the device's model, keeps
// what it measures, and prints it. A problem without a winner is GT_NOT_FOUND, and a winner whose result is
// no longer right GT_FAILED; both are told, and the others are still rechecked. Drift is no failure. quiet: without a line
// of progress for each.
gt_status gt_recheck_all(gt_generator *generator, gt_workshop *workshop, gt_cache *cache,
                         const gt_suite *problems, const gt_timing_options *timing, bool quiet, bool as_json);

// The columns of a recheck in a table.
#define GT_RECHECK_HEADINGS \
  "then µs|now µs|drift|default then µs|default now µs|speed-up then|now|°C|MHz|verdict"
#define GT_RECHECK_ALIGNMENT "rrrrrrrrrl"
void gt_recheck_cells(gt_table *table, const gt_recheck *recheck);
json_t *gt_recheck_json(const gt_recheck *recheck);

#endif
