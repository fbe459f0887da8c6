#include "tuner/try.h"

#include "generator/default.h"

// With the plain family's results to compare with. Where that cannot do the problem, only the reference checks.
static gt_status prepare(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                         gt_error *error) {
  gt_variant plain = {0};
  gt_status status = gt_plain_render(generator, problem, gt_workshop_fingerprint(workshop), &plain, error);
  if (status == GT_OK || status == GT_UNSUPPORTED)
    status = gt_workshop_problem(workshop, problem, plain.source ? &plain : NULL, error);
  gt_variant_free(&plain);
  return status;
}

gt_status gt_try(gt_generator *generator, gt_workshop *workshop, const gt_problem *problem,
                 const char *configuration, const gt_timing_options *timing, bool *prepared, gt_trial *trial,
                 gt_error *error) {
  gt_variant variant = {0};
  gt_family_role role = GT_ROLE_CANDIDATE;
  const char *description;
  gt_status status =
      gt_render(generator, configuration, problem, gt_workshop_fingerprint(workshop), &variant, error);
  if (status == GT_OK) status = gt_family_describe(generator, variant.family, &role, &description, error);
  if (status == GT_OK && !*prepared) status = prepare(generator, workshop, problem, error);
  if (status == GT_OK) {
    *prepared = true;
    status = gt_workshop_trial(workshop, &variant, role != GT_ROLE_BOUND, timing, trial, error);
  }
  gt_variant_free(&variant);
  return status;
}
