// GPU models by the text that the cache shows: "backend / name / arch / compute units".
#ifndef GT_CLI_MODEL_H
#define GT_CLI_MODEL_H

#include <stdbool.h>

#include "cache/cache.h"

// Fills the model's part of a fingerprint, and the limits of its architecture where that is known; false for
// a text that is not in the form above.
bool gt_model_parse(const char *text, gt_fingerprint *fingerprint);
void gt_model_print(const gt_fingerprint *fingerprint, char text[320]);

// The model of the cache whose text contains `part` (the case of letters does not matter); where the cache
// (may be NULL) has none and `part` is an architecture, that architecture. GT_USAGE when several do or none.
gt_status gt_model_find(gt_cache *cache, const char *part, gt_fingerprint *fingerprint, gt_error *error);

// The model that was asked for: of a device (NULL: none was named), of the cache, or the only one that the
// cache knows. GT_NOT_FOUND when nothing is named and nothing tuned.
gt_status gt_model_choose(gt_cache *cache, const char *device, const char *model, gt_fingerprint *fingerprint,
                          gt_error *error);

// Calls `visit` once for each model that has a winner.
gt_status gt_model_each(gt_cache *cache, void (*visit)(void *context, const char *text), void *context,
                        gt_error *error);

// Whether the architecture is known, so that kernels can be rendered for the model without the device.
bool gt_model_renders(const gt_fingerprint *fingerprint);

#endif
