// What comes from elsewhere is held against this program's templates before it is taken in. Nothing is
// compiled, loaded or executed for it.
#ifndef GT_EXCHANGE_VALIDATE_H
#define GT_EXCHANGE_VALIDATE_H

#include "exchange/collection.h"
#include "generator/generator.h"

// What the templates of this program make of a configuration.
typedef enum {
  GT_FIT_SAME,   // the very source that it was tuned with
  GT_FIT_STALE,  // it is in the search space, and its source is another one now
  GT_FIT_LIKELY, // it is in the space of a device like this one, whose limits only the device itself can tell
  GT_FIT_REFUSED, // it is not in the search space
} gt_fit;

// Renders a configuration for a model. `variant` (may be NULL) receives what it renders to unless it is
// refused; `reason` why it is refused. Other errors than that are GT_TEMPLATE.
gt_status gt_fit_of(gt_generator *generator, const gt_fingerprint *model, const gt_problem *problem,
                    const char *configuration, const char *source_hash, gt_fit *fit, gt_variant *variant,
                    gt_error *reason);

typedef struct {
  size_t stale_trials, stale_winners;
  size_t refused_trials, refused_winners; // left out
  char first[1200];                       // the first of those, with the reason
} gt_validation;

// Leaves records out whose configurations are not in the search space; those of the target are not looked at.
// GT_CORRUPT for a winner of the same source as here that would be launched in another way, or without a
// time.
gt_status gt_collection_validate(gt_collection *collection, gt_generator *generator, const char *name,
                                 gt_validation *validation, gt_error *error);

#endif
