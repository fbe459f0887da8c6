// Whether a winner is stale: tuned with other templates, or another compiler, than the present ones.
#ifndef GT_TUNER_STALE_H
#define GT_TUNER_STALE_H

#include "cache/cache.h"
#include "generator/generator.h"

typedef struct {
  bool refused;  // its configuration is not in the search space of the present templates; `reason` says why
  bool template; // it renders to another source now
  bool compiler; // its code object is of another compiler than the device has now, and both are known
  gt_variant variant; // what it renders to for the problem, unless refused
  gt_error reason;
} gt_staleness;
void gt_staleness_free(gt_staleness *staleness); // harmless on a zeroed one
bool gt_staleness_any(const gt_staleness *staleness);

// Holds a winner against the present templates and the device's compiler, for `problem`: the one it was tuned
// for, or one with the same kernels. `device` has its limits.
gt_status gt_staleness_of(gt_generator *generator, const gt_fingerprint *device, const gt_problem *problem,
                          const gt_winner *winner, gt_staleness *staleness, gt_error *error);

// The two halves of that: what the present templates make of a configuration, which once rendered to the source of a
// hash; and whether the device has another compiler now than the winner's code object is of.
gt_status gt_staleness_of_template(gt_generator *generator, const gt_fingerprint *device, const gt_problem *problem,
                                   const char *configuration, const char *source_hash, gt_staleness *staleness,
                                   gt_error *error);
bool gt_staleness_of_compiler(const gt_fingerprint *device, const gt_winner *winner);

// How it is stale in a few words: "its template has changed", …; "" when it is not.
const char *gt_staleness_text(const gt_staleness *staleness);

// Whether the problem has a stored winner on the device's model and that is stale. Whatever cannot be read or
// rendered is not.
bool gt_is_stored_stale(gt_generator *generator, gt_cache *cache, const gt_fingerprint *device,
                        const gt_problem *problem);

#endif
