#include "generator/default.h"

#include <stdlib.h>

#include "generator/axis.h"

// Outputs that used one input from which on sums are better shared between neighbours than formed for each:
// march before taps, twopass before inner.
enum { LARGE_WINDOW = 36, LARGE_WINDOW_CHANNELS_LAST = 256 };

// The order in which families are asked. A family that this build's templates lack is passed over.
static const char *const by_taps[] = {"taps", "march", "twopass", "reduce", "direct", NULL};
static const char *const by_march[] = {"march", "twopass", "reduce", "taps", "direct", NULL};
static const char *const by_march_few[] = {"march", "reduce", "twopass", "taps", "direct", NULL};
static const char *const by_inner[] = {"inner", "twopass", "reduce", "direct", NULL};
static const char *const by_passes[] = {"twopass", "inner", "reduce", "direct", NULL};
static const char *const by_passes_few[] = {"reduce", "twopass", "inner", "direct", NULL};
static const char *const plain[] = {"direct", NULL};
static const char *const by_grid[] = {"grid_bin", "grid_scatter", NULL};

// How many outputs used an input, at most, and how often an output is used on average: along all axes
// together.
static gt_status measure(const gt_problem *problem, double *window, double *uses, gt_error *error) {
  gt_status status = GT_OK;
  *window = *uses = 1;
  for (int i = 0; i < GT_AXES && status == GT_OK; i++) {
    gt_axis axis;
    status = gt_axis_make(problem, i, &axis, error);
    if (status != GT_OK) break;
    *window *= (double)axis.max_count;
    *uses *= (double)axis.max_count * (double)axis.n_in / (double)axis.n_out;
    gt_axis_free(&axis);
  }
  return status;
}

static const char *const *order_for(const gt_problem *problem) {
  double window, uses;
  if (problem->op->form == GT_FORM_GRID) return by_grid;
  if (measure(problem, &window, &uses, NULL) != GT_OK) return plain; // axes too long for tables
  bool few = uses < 2; // windows hardly overlap: nothing to share between inputs
  if (gt_problem_inner(problem) > 1)
    return window < LARGE_WINDOW_CHANNELS_LAST ? by_inner : few ? by_passes_few : by_passes;
  return window < LARGE_WINDOW ? by_taps : few ? by_march_few : by_march;
}

const char *gt_plain_family(const gt_problem *problem) {
  return problem->op->form == GT_FORM_GRID ? "grid_scatter" : "direct";
}

gt_status gt_plain_render(gt_generator *generator, const gt_problem *problem, const gt_fingerprint *device,
                          gt_variant *variant, gt_error *error) {
  char *configuration = NULL;
  gt_status status =
      gt_family_default(generator, gt_plain_family(problem), problem, device, &configuration, error);
  if (status == GT_OK) status = gt_render(generator, configuration, problem, device, variant, error);
  free(configuration);
  return status;
}

gt_status gt_default_configuration(gt_generator *generator, const gt_problem *problem,
                                   const gt_fingerprint *device, char **configuration, gt_error *error) {
  *configuration = NULL;
  gt_status status = GT_UNSUPPORTED;
  for (const char *const *family = order_for(problem); *family; family++) {
    status = gt_family_claims(generator, *family, problem, device, error);
    if (status == GT_OK) return gt_family_default(generator, *family, problem, device, configuration, error);
    if (status != GT_UNSUPPORTED && status != GT_USAGE) return status;
  }
  return status;
}
