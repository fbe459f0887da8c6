#include "runtime/stale.h"

#include <stdlib.h>
#include <string.h>

#include "generator/default.h"
#include "runtime/child.h"
#include "runtime/code.h"
#include "tuner/expected.h"

static gt_status judge(gathertune_context *context, const gt_problem *problem, const gt_winner *winner,
                       gt_staleness *staleness, gt_error *error) {
  gt_generator *generator;
  *staleness = (gt_staleness){0};
  gt_status status = gt_finder_generator(context->finder, &generator, error);
  if (status == GT_OK)
    status = gt_staleness_of(generator, &context->device.fingerprint, problem, winner, staleness, error);
  if (status != GT_OK) gt_staleness_free(staleness);
  return status;
}

// --- what is known
// -----------------------------------------------------------------------------------------

typedef enum { UNCHECKED, RIGHT, WRONG } verdict;

static verdict verdict_of(gt_outcome outcome, const char *message, gt_buffer *why) {
  if (outcome == GT_OUTCOME_OK) return RIGHT;
  if (outcome == GT_OUTCOME_OUT_OF_MEMORY) return UNCHECKED; // says nothing of the kernel
  gt_buffer_print(why, "%s%s%.300s", gt_outcome_name(outcome), message && *message ? ": " : "",
                  message ? message : "");
  return WRONG;
}

// What a cache says of a variant on this GPU model with its present software: a check like this one, a trial,
// or that it crashed or hung for another problem.
static verdict look_up(const gathertune_context *context, gt_cache *cache, const gt_problem *problem,
                       const gt_variant *variant, gt_buffer *why) {
  const gt_fingerprint *device = &context->device.fingerprint;
  gt_stale_check check;
  gt_trial trial;
  verdict v = UNCHECKED;
  if (gt_cache_get_stale_check(cache, device, variant->configuration, variant->source_hash, &check, NULL) ==
      GT_OK) {
    v = verdict_of(check.outcome, check.message, why);
    gt_stale_check_free(&check);
  }
  if (v == UNCHECKED &&
      gt_cache_get_trial(cache, device, problem, variant->configuration, &trial, NULL) == GT_OK) {
    if (strcmp(trial.source_hash, variant->source_hash) == 0)
      v = verdict_of(trial.outcome, trial.message, why);
    gt_trial_free(&trial);
  }
  if (v == UNCHECKED && gt_cache_get_quarantined(cache, device, variant->source_hash, &trial, NULL) == GT_OK) {
    v = verdict_of(trial.outcome, trial.message, why);
    gt_trial_free(&trial);
  }
  return v;
}

static verdict known(const gathertune_context *context, const gt_problem *problem, const gt_variant *variant,
                     gt_buffer *why) {
  verdict v = UNCHECKED;
  for (size_t i = context->layers.count; i-- > 0 && v == UNCHECKED;)
    if (context->layers.list[i].cache) v = look_up(context, context->layers.list[i].cache, problem, variant, why);
  return v;
}

gt_status gt_stale_refuse_wrong(const gathertune_context *context, const gt_problem *problem,
                                const gt_variant *variant, gt_error *error) {
  gt_buffer why = {0};
  gt_status status = GT_OK;
  if (known(context, problem, variant, &why) == WRONG)
    status = gt_fail(error, GT_WRONG_RESULT, "%s failed on this device before: %.500s", variant->configuration,
                     why.data);
  gt_buffer_free(&why);
  return status;
}

bool gt_stale_is_lost(gathertune_context *context, const gt_problem *problem, const gt_found *found) {
  gt_staleness staleness;
  gt_buffer why = {0};
  bool lost = judge(context, problem, &found->winner, &staleness, NULL) == GT_OK &&
              (staleness.refused || (gt_staleness_any(&staleness) &&
                                     known(context, problem, &staleness.variant, &why) == WRONG));
  gt_staleness_free(&staleness);
  gt_buffer_free(&why);
  return lost;
}

// --- finding out
// -------------------------------------------------------------------------------------------

// For later requests, of this process and of others. That it cannot be remembered costs another check.
static void remember(gathertune_context *context, const gt_problem *problem, const gt_variant *variant,
                     gt_outcome outcome, const char *message) {
  const gt_layer *last = context->layers.count ? &context->layers.list[context->layers.count - 1] : NULL;
  gt_cache *cache = NULL;
  gt_stale_check check = {.configuration = variant->configuration, // borrowed
                          .outcome = outcome,
                          .message = (char *)(uintptr_t)message};
  memcpy(check.source_hash, variant->source_hash, sizeof check.source_hash);
  if (!last || last->system || gt_cache_open(last->path, GT_CACHE_WRITE, &cache, NULL) != GT_OK) return;
  (void)gt_cache_put_stale_check(cache, &context->device.fingerprint, problem, &check, NULL);
  gt_cache_close(cache);
  gt_layers_look_again(&context->layers, &context->layers_options);
}

// Compiles the plain family, which full results are compared with where the reference covers a part of them.
static bool compile_direct(gathertune_context *context, const gt_problem *problem, gt_variant *direct,
                           gt_buffer *code) {
  const gt_fingerprint *device = &context->device.fingerprint;
  gt_generator *generator;
  if (gt_problem_out_elements(problem) <= GT_EXPECTED_ELEMENTS &&
      gt_problem_in_elements(problem) <= GT_EXPECTED_ELEMENTS)
    return false;
  return gt_finder_generator(context->finder, &generator, NULL) == GT_OK &&
         gt_plain_render(generator, problem, device, direct, NULL) == GT_OK &&
         gt_code_compile(context, direct, code, NULL) == GT_OK;
}

// Compiles the variant and checks it. GT_OK: *outcome and *message say what came of it; else it could not be
// checked.
static gt_status try_it(gathertune_context *context, const gt_problem *problem, const gt_variant *variant,
                        gt_buffer *code, gt_outcome *outcome, gt_buffer *message, gt_error *error) {
  gt_error failure = {0};
  gt_status status = gt_code_compile(context, variant, code, &failure);
  // That it took too long may be this machine's doing.
  if (status == GT_COMPILE || status == GT_CRASH) {
    *outcome = status == GT_CRASH ? GT_OUTCOME_CRASH : GT_OUTCOME_COMPILE_ERROR;
    gt_buffer_print(message, "%s", failure.text);
    return GT_OK;
  }
  if (status != GT_OK) return gt_fail(error, status, "%s", failure.text);
  char text[GT_PROBLEM_TEXT];
  gt_variant direct = {0};
  gt_buffer direct_code = {0};
  gt_problem_print(problem, text);
  bool directly = compile_direct(context, problem, &direct, &direct_code);
  status = gt_child_check(context->program, context->device_name, text, (gt_child_code){variant, code},
                          directly ? &(gt_child_code){&direct, &direct_code} : NULL, context->compile_seconds,
                          outcome, message, error);
  gt_variant_free(&direct);
  gt_buffer_free(&direct_code);
  return status;
}

// --- serving
// -----------------------------------------------------------------------------------------------

// The code of what was found right before.
static gt_status load_right(gathertune_context *context, const gt_variant *variant, gt_module **module,
                            gt_error *error) {
  char key[GT_HASH_SIZE];
  gt_buffer code = {0};
  gt_code_store_key(&context->device.fingerprint, key);
  if (gt_code_load_kept(context, key, variant->source_hash, module, NULL) == GT_OK) return GT_OK;
  gt_status status = gt_code_compile(context, variant, &code, error);
  if (status == GT_OK) status = gt_code_load(context, code.data, code.length, module, error);
  gt_buffer_free(&code);
  return status;
}

// One that was not checked yet.
static gt_status find_out(gathertune_context *context, const gt_problem *problem, const gt_variant *variant,
                          verdict *v, gt_module **module, gt_buffer *why, gt_error *error) {
  gt_outcome outcome;
  gt_buffer code = {0}, message = {0};
  gt_status status = try_it(context, problem, variant, &code, &outcome, &message, error);
  if (status == GT_OK) {
    const char *text = message.data ? message.data : "";
    *v = verdict_of(outcome, text, why);
    remember(context, problem, variant, outcome, text);
  }
  if (status == GT_OK && *v == RIGHT) status = gt_code_load(context, code.data, code.length, module, error);
  gt_buffer_free(&code);
  gt_buffer_free(&message);
  return status;
}

static gt_status serve(gathertune_context *context, const gt_problem *problem, gt_found *found,
                       gt_staleness *staleness, gt_module **module, gt_buffer *note, gt_error *error) {
  const char *how = gt_staleness_text(staleness), *configuration = found->winner.variant.configuration;
  const char *tuned = found->winner.problem;
  gt_buffer why = {0};
  gt_error failure = {0};
  if (staleness->refused)
    return gt_fail(error, GT_UNSUPPORTED, "%s, tuned for %s, is stale: %s: %.300s", configuration, tuned, how,
                   staleness->reason.text);
  verdict v = known(context, problem, &staleness->variant, &why);
  bool was_known = v != UNCHECKED;
  gt_status status = GT_OK;
  if (v == RIGHT)
    status = load_right(context, &staleness->variant, module, error);
  else if (v == UNCHECKED)
    status = find_out(context, problem, &staleness->variant, &v, module, &why, &failure);
  if (v == WRONG) {
    status = gt_fail(error, GT_WRONG_RESULT, "%s, tuned for %s, is stale: %s, and it failed its check: %.500s",
                     configuration, tuned, how, why.data);
  } else if (v == RIGHT && status == GT_OK) {
    found->variant = staleness->variant;
    staleness->variant = (gt_variant){0};
    found->rendered = true;
    gt_buffer_print(note, "stale: %s; compiled anew and checked%s", how, was_known ? " before" : "");
  } else if (v == UNCHECKED) {
    gt_status why_not = status;
    status = gt_code_load_stored(context, found, module, NULL);
    if (status == GT_OK)
      gt_buffer_print(note, "stale: %s; served from its stored code object, since it could not be checked: %.300s",
                      how, failure.text);
    else
      status = gt_fail(error, why_not, "%s", failure.text);
  }
  gt_buffer_free(&why);
  return status;
}

gt_status gt_stale_code(gathertune_context *context, const gt_problem *problem, gt_found *found, bool *stale,
                        gt_module **module, gt_buffer *note, gt_error *error) {
  gt_staleness staleness;
  gt_error failure = {0};
  gt_status status = GT_OK;
  if (judge(context, problem, &found->winner, &staleness, &failure) != GT_OK)
    gt_buffer_print(note, "whether it is stale cannot be told: %.300s", failure.text);
  *stale = gt_staleness_any(&staleness);
  if (*stale) status = serve(context, problem, found, &staleness, module, note, error);
  gt_staleness_free(&staleness);
  return status;
}

// --- serving without compiling
// -----------------------------------------------------------------------------------

bool gt_stale_tell(gathertune_context *context, const gt_problem *problem, const gt_winner *winner,
                   gt_buffer *note) {
  gt_staleness staleness;
  gt_error failure = {0};
  if (judge(context, problem, winner, &staleness, &failure) != GT_OK)
    gt_buffer_print(note, "whether it is stale cannot be told: %.300s", failure.text);
  bool stale = gt_staleness_any(&staleness);
  if (stale)
    gt_buffer_print(note, "stale: %s; served from its stored code object", gt_staleness_text(&staleness));
  gt_staleness_free(&staleness);
  return stale;
}
