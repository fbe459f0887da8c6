// The configuration to use where nothing was tuned.
#ifndef GT_GENERATOR_DEFAULT_H
#define GT_GENERATOR_DEFAULT_H

#include "generator/generator.h"

// The plainest family of the problem's form, which does every problem that any family does: `direct`, or
// `grid_scatter`. What other results are compared with where the reference has no time for all, and what
// speed-ups are told against.
const char *gt_plain_family(const gt_problem *problem);

// Its default configuration, rendered. GT_UNSUPPORTED, with the reason, where it does not do the problem.
gt_status gt_plain_render(gt_generator *generator, const gt_problem *problem, const gt_fingerprint *device,
                          gt_variant *variant, gt_error *error);

// The default of the family that suits the problem by rule: the first that claims it, in an order that
// follows from the layout and from how many outputs used an input (docs/performance.md tells how good the
// rule is). The caller frees *configuration with free(). GT_UNSUPPORTED, with the reason of the plain
// gather-sum, when no family claims it.
gt_status gt_default_configuration(gt_generator *generator, const gt_problem *problem,
                                   const gt_fingerprint *device, char **configuration, gt_error *error);

#endif
