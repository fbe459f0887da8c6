#include "tuner/keep.h"

#include <string.h>

#include "tuner/repeat.h"

static gt_status keep(gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                      const gt_variant *variant, const gt_winner *times, bool deterministic,
                      gt_error *error) {
  const gt_compiled *compiled;
  gt_status status = gt_workshop_code(workshop, variant, &compiled, error);
  if (status != GT_OK) return status;
  if (compiled->status != GT_OK)
    return gt_fail(error, compiled->status, "%s%s does not compile again: %s",
                   deterministic ? "" : "the winner ", variant->configuration,
                   compiled->message.data ? compiled->message.data : "");
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  gt_winner winner = *times;
  winner.problem = text;
  winner.variant = *variant; // borrowed, as is the code
  winner.code = compiled->code.data;
  winner.code_size = compiled->code.length;
  memcpy(winner.code_hash, compiled->code_hash, sizeof winner.code_hash);
  return (deterministic ? gt_cache_put_deterministic : gt_cache_put_winner)(
      cache, gt_workshop_fingerprint(workshop), problem, &winner, error);
}

gt_status gt_keep_winner(gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                         const gt_variant *variant, const gt_winner *times, gt_error *error) {
  return keep(workshop, cache, problem, variant, times, false, error);
}

gt_status gt_keep_repeating(gt_generator *generator, gt_workshop *workshop, gt_cache *cache, const gt_problem *problem,
                            gt_tuned *tuned, gt_error *error) {
  const gt_fingerprint *device = gt_workshop_fingerprint(workshop);
  bool repeats;
  gt_variant variant = {0};
  // A winner that is not legal any more is stale: nothing can be said of it.
  if (gt_repeats(generator, tuned->configuration, problem, device, &repeats, NULL) != GT_OK) return GT_OK;
  if (repeats) {
    tuned->repeating = gt_strdup(tuned->configuration);
    tuned->repeating_us = tuned->best_us;
    return gt_cache_drop_deterministic(cache, device, problem, error);
  }
  gt_winner times = {.default_us = tuned->default_us, .stream_us = tuned->stream_us};
  gt_status status = gt_repeat_best(generator, cache, device, problem, &tuned->repeating, &times.median_us,
                                    &times.spread_us, error);
  tuned->repeating_us = times.median_us;
  if (status == GT_NOT_FOUND) return GT_OK;
  if (status == GT_OK) status = gt_render(generator, tuned->repeating, problem, device, &variant, error);
  if (status == GT_OK) status = keep(workshop, cache, problem, &variant, &times, true, error);
  gt_variant_free(&variant);
  return status;
}
