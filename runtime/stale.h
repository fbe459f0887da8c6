// Serving what is stale (tuner/stale.h): where a context may compile, as the present templates and compiler make it,
// once that was checked; else from its stored code object. All with context->making held.
#ifndef GT_RUNTIME_STALE_H
#define GT_RUNTIME_STALE_H

#include "runtime/inside.h"
#include "tuner/stale.h"

// *stale: whether what was found is. If so, the code to launch is loaded, `found` is rendered to what it is of, and
// `note` receives a line about it; or it is not to be served: GT_UNSUPPORTED, the templates do not have its
// configuration any more; GT_WRONG_RESULT, it failed its check, now or before; or another failure. Checks that
// are made are remembered in the last cache. What cannot be checked is served from its stored code object.
gt_status gt_stale_code(gathertune_context *context, const gt_problem *problem, gt_found *found, bool *stale,
                        gt_module **module, gt_buffer *note, gt_error *error);

// Whether a winner that is served from its stored code object is stale, and a line about it for `note`.
bool gt_stale_tell(gathertune_context *context, const gt_problem *problem, const gt_winner *winner,
                   gt_buffer *note);

// GT_WRONG_RESULT, with what happened, when a variant is known to have failed on this GPU model with its present software.
gt_status gt_stale_refuse_wrong(const gathertune_context *context, const gt_problem *problem,
                                const gt_variant *variant, gt_error *error);

// Whether it is known that what was found is not to be served. Compiles and runs nothing.
bool gt_stale_is_lost(gathertune_context *context, const gt_problem *problem, const gt_found *found);

#endif
