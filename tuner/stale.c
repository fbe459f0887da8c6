#include "tuner/stale.h"

#include <string.h>

void gt_staleness_free(gt_staleness *staleness) {
  gt_variant_free(&staleness->variant);
  *staleness = (gt_staleness){0};
}

bool gt_staleness_any(const gt_staleness *staleness) {
  return staleness->refused || staleness->template || staleness->compiler;
}

gt_status gt_staleness_of_template(gt_generator *generator, const gt_fingerprint *device, const gt_problem *problem,
                                   const char *configuration, const char *source_hash, gt_staleness *staleness,
                                   gt_error *error) {
  *staleness = (gt_staleness){0};
  gt_status status =
      gt_render(generator, configuration, problem, device, &staleness->variant, &staleness->reason);
  staleness->refused = status == GT_USAGE || status == GT_UNSUPPORTED;
  if (status == GT_OK)
    staleness->template = strcmp(staleness->variant.source_hash, source_hash) != 0;
  else if (!staleness->refused)
    return gt_fail(error, status, "%s", staleness->reason.text);
  return GT_OK;
}

// A compiler that cannot be found now, or that an entry from elsewhere does not name, says nothing.
bool gt_staleness_of_compiler(const gt_fingerprint *device, const gt_winner *winner) {
  return device->compiler[0] && winner->compiler && winner->compiler[0] &&
         strcmp(device->compiler, winner->compiler) != 0;
}

gt_status gt_staleness_of(gt_generator *generator, const gt_fingerprint *device, const gt_problem *problem,
                          const gt_winner *winner, gt_staleness *staleness, gt_error *error) {
  gt_status status = gt_staleness_of_template(generator, device, problem, winner->variant.configuration,
                                              winner->variant.source_hash, staleness, error);
  staleness->compiler = gt_staleness_of_compiler(device, winner);
  return status;
}

const char *gt_staleness_text(const gt_staleness *staleness) {
  if (staleness->refused) return "the templates do not have its configuration any more";
  if (staleness->template && staleness->compiler) return "its template and the compiler have changed";
  if (staleness->template) return "its template has changed";
  return staleness->compiler ? "the compiler has changed" : "";
}

bool gt_is_stored_stale(gt_generator *generator, gt_cache *cache, const gt_fingerprint *device,
                        const gt_problem *problem) {
  gt_winner winner;
  gt_staleness staleness = {0};
  if (gt_cache_get_winner(cache, device, problem, false, &winner, NULL) != GT_OK) return false;
  bool stale = gt_staleness_of(generator, device, problem, &winner, &staleness, NULL) == GT_OK &&
               gt_staleness_any(&staleness);
  gt_staleness_free(&staleness);
  gt_winner_free(&winner);
  return stale;
}
