#include "exchange/validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "exchange/order.h"
#include "generator/axis.h"
#include "tuner/stale.h"

// The limits of a model: its own where they are known, as on its device, or those of its architecture, else
// of one much like it.
static bool limits_of(const gt_fingerprint *model, gt_fingerprint *limits) {
  if (model->max_threads_per_block > 0) {
    *limits = *model;
    return true;
  }
  bool exact = gt_fingerprint_for_arch(model->arch, limits);
  if (!exact && strcmp(model->backend, "hip") == 0) gt_fingerprint_for_arch("gfx942", limits);
  if (!exact && strcmp(model->backend, "cuda") == 0) gt_fingerprint_for_arch("sm_90", limits);
  if (!exact && strcmp(model->backend, "hip") != 0 && strcmp(model->backend, "cuda") != 0) {
    bool cpu = strncmp(model->arch, "cpu-", 4) == 0;
    *limits = (gt_fingerprint){.target = GT_TARGET_OPENCL,
                               .wave_size = cpu ? 1 : 32,
                               .max_threads_per_block = 1024,
                               .lds_bytes_per_block = 64 << 10,
                               .last_level_cache_bytes = 4 << 20,
                               .is_cpu = cpu};
  }
  memcpy(limits->backend, model->backend, sizeof limits->backend);
  memcpy(limits->name, model->name, sizeof limits->name);
  memcpy(limits->arch, model->arch, sizeof limits->arch);
  limits->compute_units = model->compute_units;
  return exact;
}

#define MOST_BYTES ((int64_t)1 << 30) // of the tables of a problem's axes

static bool is_too_long(const gt_problem *problem) {
  int64_t bytes = 0;
  for (int axis = 0; axis < GT_AXES; axis++) bytes += gt_axis_bytes(problem, axis);
  return bytes > MOST_BYTES;
}

gt_status gt_fit_of(gt_generator *generator, const gt_fingerprint *model, const gt_problem *problem,
                    const char *configuration, const char *source_hash, gt_fit *fit, gt_variant *variant,
                    gt_error *reason) {
  gt_fingerprint limits;
  gt_staleness staleness;
  bool exact = limits_of(model, &limits);
  *fit = GT_FIT_REFUSED;
  if (is_too_long(problem)) { // how much memory that takes is not for a file from elsewhere to say
    gt_fail(reason, GT_UNSUPPORTED, "its axes are too long to be held against the search space");
    return GT_OK;
  }
  gt_status status =
      gt_staleness_of_template(generator, &limits, problem, configuration, source_hash, &staleness, reason);
  if (status != GT_OK) return status;
  if (staleness.refused) {
    if (reason) *reason = staleness.reason;
    return GT_OK;
  }
  // The same configuration under two texts would be tried, and kept, twice.
  if (strcmp(staleness.variant.configuration, configuration) != 0) {
    gt_fail(reason, GT_USAGE, "it is to be written %s", staleness.variant.configuration);
  } else {
    *fit = !staleness.template ? GT_FIT_SAME : exact ? GT_FIT_STALE : GT_FIT_LIKELY;
    if (variant) {
      *variant = staleness.variant;
      staleness.variant = (gt_variant){0};
    }
  }
  gt_staleness_free(&staleness);
  return GT_OK;
}

static bool same_launches(const gt_variant *a, const gt_variant *b) {
  bool same = a->n_launches == b->n_launches && a->workspace_fixed == b->workspace_fixed &&
              a->workspace_per_outer == b->workspace_per_outer && a->reproducible == b->reproducible;
  for (int i = 0; same && i < a->n_launches; i++) {
    const gt_launch_rule *one = &a->launches[i], *other = &b->launches[i];
    same = strcmp(one->kernel, other->kernel) == 0 &&
           memcmp(one->block, other->block, sizeof one->block) == 0 && one->blocks_num == other->blocks_num &&
           one->blocks_den == other->blocks_den;
  }
  return same;
}

static void note(gt_validation *v, const char *problem, const char *configuration, const gt_error *reason) {
  if (!v->first[0])
    snprintf(v->first, sizeof v->first, "%.400s of %.300s: %.400s", configuration, problem, reason->text);
}

static gt_status validate_winner(gt_collection *c, gt_collected_winner *w, gt_generator *generator,
                                 const char *name, gt_validation *v, gt_fit *fit, gt_error *error) {
  gt_problem problem;
  gt_variant variant = {0};
  gt_error reason = {0};
  const char *configuration = w->winner.variant.configuration;
  gt_status status = gt_problem_parse(w->winner.problem, &problem, error);
  if (status != GT_OK) return status;
  if (w->winner.median_us <= 0)
    return gt_fail(error, GT_CORRUPT, "%s: the winner %s of %s has no time", name, configuration,
                   w->winner.problem);
  status = gt_fit_of(generator, &c->devices[w->device], &problem, configuration,
                     w->winner.variant.source_hash, fit, &variant, &reason);
  if (status != GT_OK) {
    if (error) *error = reason;
    return status;
  }
  if (*fit == GT_FIT_SAME && !same_launches(&variant, &w->winner.variant))
    status = gt_fail(error, GT_CORRUPT,
                     "%s: the winner %s of %s would be launched in another way than its kernels are made for",
                     name, configuration, w->winner.problem);
  if (status == GT_OK && w->deterministic && !w->winner.variant.reproducible)
    status = gt_fail(error, GT_CORRUPT, "%s: %s of %s is to be one whose results repeat, which they do not",
                     name, configuration, w->winner.problem);
  if (*fit == GT_FIT_REFUSED) note(v, w->winner.problem, configuration, &reason);
  v->stale_winners += *fit == GT_FIT_STALE;
  v->refused_winners += *fit == GT_FIT_REFUSED;
  gt_variant_free(&variant);
  return status;
}

static gt_status validate_trial(gt_collection *c, gt_collected_trial *t, gt_generator *generator,
                                gt_validation *v, gt_fit *fit, gt_error *error) {
  gt_problem problem;
  gt_error reason = {0};
  gt_status status = gt_problem_parse(t->problem, &problem, error);
  if (status != GT_OK) return status;
  status = gt_fit_of(generator, &c->devices[t->device], &problem, t->trial.configuration,
                     t->trial.source_hash, fit, NULL, &reason);
  if (status != GT_OK) {
    if (error) *error = reason;
    return status;
  }
  if (*fit == GT_FIT_REFUSED) note(v, t->problem, t->trial.configuration, &reason);
  v->stale_trials += *fit == GT_FIT_STALE;
  v->refused_trials += *fit == GT_FIT_REFUSED;
  return GT_OK;
}

gt_status gt_collection_validate(gt_collection *c, gt_generator *generator, const char *name,
                                 gt_validation *v, gt_error *error) {
  gt_status status = GT_OK;
  size_t kept = 0, i = 0;
  // Winners first: the reason that is told is then of what matters most. What comes after a failure is kept
  // as it is, so that all is freed once.
  for (; i < c->n_winners; i++) {
    gt_collected_winner *w = &c->winners[i];
    gt_fit fit = GT_FIT_SAME;
    if (status == GT_OK && w->from != GT_FROM_TARGET)
      status = validate_winner(c, w, generator, name, v, &fit, error);
    if (fit != GT_FIT_REFUSED || status != GT_OK) {
      c->winners[kept++] = *w;
      continue;
    }
    free(w->host);
    gt_winner_free(&w->winner);
  }
  c->n_winners = kept;
  kept = 0;
  for (i = 0; i < c->n_trials; i++) {
    gt_collected_trial *t = &c->trials[i];
    gt_fit fit = GT_FIT_SAME;
    if (status == GT_OK && t->from != GT_FROM_TARGET)
      status = validate_trial(c, t, generator, v, &fit, error);
    if (fit != GT_FIT_REFUSED || status != GT_OK) {
      c->trials[kept++] = *t;
      continue;
    }
    free(t->problem);
    free(t->host);
    free(t->tried_at);
    gt_trial_free(&t->trial);
  }
  c->n_trials = kept;
  return status;
}
