#include "tuner/try.h"

#include <stdlib.h>

#include "generator/default.h"

// The rendering of the plain family that results at full size are compared with. There is none where that family
// cannot do the problem: then only the reference checks.
static gt_status render_direct(gt_generator *generator, const gt_problem *problem,
                               const gt_fingerprint *device, gt_variant *direct, gt_error *error) {
  char *configuration = NULL;
  const char *plain = gt_plain_family(problem);
  gt_status status = gt_family_claims(generator, plain, problem, device, error);
  if (status == GT_OK) status = gt_family_default(generator, plain, problem, device, &configuration, error);
  if (status == GT_OK) status = gt_render(generator, configuration, problem, device, direct, error);
  free(configuration);
  return status == GT_UNSUPPORTED ? GT_OK : status;
}

gt_status gt_try(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                 const char *configuration, const gt_timing_options *timing, gt_trial *trial,
                 gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(workshop);
  gt_variant variant = {0}, direct = {0};
  gt_family_role role = GT_ROLE_CANDIDATE;
  const char *description;
  gt_status status = gt_render(generator, configuration, problem, device, &variant, error);
  if (status != GT_OK) goto done;
  status = gt_family_describe(generator, variant.family, &role, &description, error);
  if (status != GT_OK) goto done;
  status = render_direct(generator, problem, device, &direct, error);
  if (status != GT_OK) goto done;
  status = gt_workshop_problem(workshop, problem, direct.source ? &direct : NULL, error);
  if (status != GT_OK) goto done;
  status = gt_workshop_trial(workshop, &variant, role != GT_ROLE_BOUND, timing, trial, error);
done:
  gt_variant_free(&direct);
  gt_variant_free(&variant);
  return status;
}
