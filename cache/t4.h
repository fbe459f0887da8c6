// Reading tuning results in T4 JSON, the exchange format of auto-tuners (AutoTuningAssociation's
// "open autotuning results schema", versions 1.*), plain or compressed by gzip. Results are read one at a
// time, so that a file may be larger than memory.
#ifndef GT_CACHE_T4_H
#define GT_CACHE_T4_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// One element of "results". Valid during the visit only.
typedef struct {
  size_t number;                            // 1 for the first
  const char *const *names, *const *values; // of the configuration, in the order of the file; `count` each
  size_t count;
  const char *invalidity; // "correct", or why it failed: "timeout", "compile", "runtime", "correctness", …
  bool correct;
  double time;        // of the first objective, in the unit of the file; 0 unless correct
  const json_t *json; // all of it
} gt_t4_result;

// Calls `visit` for each result, until one returns another status than GT_OK, which ends the reading. GT_IO
// when the file cannot be read; GT_USAGE when it is not what the schema says, with the number of the result;
// GT_UNSUPPORTED for another major version of the schema, which may show only at the end of the file.
gt_status gt_t4_read(const char *path,
                     gt_status (*visit)(void *context, const gt_t4_result *result, gt_error *error),
                     void *context, gt_error *error);

#endif
