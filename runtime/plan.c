// Making plans: which configuration, where its code is, and everything that executing it needs.
#include <stdlib.h>
#include <string.h>

#include "runtime/child.h"
#include "runtime/stale.h"

void gt_plan_free(gathertune_plan *plan) {
  free(plan->from_problem);
  free(plan->from_model);
  free(plan->from_cache);
  free(plan->configuration);
  free(plan->note);
  free(plan->compiler);
  free(plan);
}

static gathertune_plan *new_plan(gathertune_context *context, const gt_problem *problem) {
  gathertune_plan *plan = gt_alloc(sizeof *plan);
  plan->context = context;
  plan->backend = context->device.backend;
  plan->device = context->device.device;
  plan->outer = gt_problem_outer(problem);
  gt_problem_print(problem, plan->problem);
  return plan;
}

// What is stale, and what was passed over since it was.
static void describe_age(gathertune_plan *plan, const gt_found *found, bool stored, bool stale, const char *note) {
  bool late = plan->context->mode == GATHERTUNE_MODE_LOOKUP && stored && !found->rendered;
  plan->note = gt_strdup(note);
  plan->info.stale = stale;
  plan->info.note = plan->note;
  if (late) {
    memcpy(plan->source_hash, found->winner.variant.source_hash, sizeof plan->source_hash);
    plan->compiler = gt_strdup(found->winner.compiler);
  }
  atomic_store_explicit(&plan->judged, !late, memory_order_relaxed); // nobody has the plan yet
}

void gt_plan_judge(gathertune_plan *plan) {
  gt_problem problem;
  gt_buffer note = {0};
  gt_winner winner = {.compiler = plan->compiler, .variant = {.configuration = plan->configuration}};
  memcpy(winner.variant.source_hash, plan->source_hash, sizeof plan->source_hash);
  if (gt_problem_parse(plan->problem, &problem, NULL) == GT_OK)
    plan->info.stale = gt_stale_tell(plan->context, &problem, &winner, &note);
  if (note.data) {
    free(plan->note);
    plan->note = note.data;
    plan->info.note = plan->note;
  }
  atomic_store_explicit(&plan->judged, true, memory_order_release);
}

static void describe(gathertune_plan *plan, const gt_problem *problem, const gt_found *found, bool stale,
                     const char *note) {
  const gt_variant *variant = gt_found_variant(found);
  bool stored = found->origin == GT_ORIGIN_EXACT || found->origin == GT_ORIGIN_NEAR;
  plan->from_problem = gt_strdup(stored ? found->winner.problem : "");
  plan->from_model = gt_strdup(stored ? found->winner.device : "");
  plan->from_cache = gt_strdup(stored ? found->layer->path : "");
  plan->configuration = gt_strdup(variant->configuration ? variant->configuration : "");
  plan->info = (gathertune_plan_info){
      .origin = (gathertune_origin)found->origin,
      .problem = plan->problem,
      .from_problem = plan->from_problem,
      .from_model = plan->from_model,
      .from_cache = plan->from_cache,
      .configuration = plan->configuration,
      .expected_us = found->expected_us,
      .reproducible = found->origin == GT_ORIGIN_EMPTY || variant->reproducible,
      .workspace_bytes = (uint64_t)gt_variant_workspace(variant, plan->outer),
      .launches = plan->n_launches,
  };
  describe_age(plan, found, stored, stale, note);
  gt_plan_take_buffers(plan, problem, plan->info.workspace_bytes);
}

// Finds the kernels, and asks for what they need: drivers that load a kernel only when it is used do so now,
// and not while a graph is captured.
static gt_status find_kernels(gathertune_plan *plan, const gt_variant *variant, gt_module *module,
                              gt_error *error) {
  gt_status status = GT_OK;
  for (int i = 0; i < variant->n_launches && status == GT_OK; i++) {
    const gt_launch_rule *rule = &variant->launches[i];
    gt_kernel_info info;
    uint32_t grid[3];
    status = gt_launch_grid(rule, plan->outer, grid, error);
    if (status != GT_OK || grid[0] == 0 || grid[1] == 0 || grid[2] == 0) continue;
    gt_kernel *kernel;
    status = plan->backend->kernel(plan->device, module, rule->kernel, &kernel, error);
    if (status == GT_OK) status = plan->backend->kernel_info(plan->device, kernel, &info, error);
    if (status != GT_OK) break;
    plan->launches[plan->n_launches].kernel = kernel;
    memcpy(plan->launches[plan->n_launches].grid, grid, sizeof grid);
    memcpy(plan->launches[plan->n_launches].block, rule->block, sizeof rule->block);
    plan->n_launches++;
  }
  return status;
}

// `note` has what was passed over, and receives what there is to say of this answer, a failure that is due to its
// age included.
static gt_status complete(gathertune_context *context, const gt_problem *problem, gt_found *found,
                          gathertune_plan **made, gt_buffer *note, gt_error *error) {
  gathertune_plan *plan = new_plan(context, problem);
  gt_module *module = NULL;
  gt_buffer own = {0};
  bool stale = false;
  gt_status status = GT_OK;
  if (found->origin != GT_ORIGIN_EMPTY) {
    status = gt_plan_code(context, problem, found, &stale, &module, &own, error);
    if (status == GT_OK) status = find_kernels(plan, gt_found_variant(found), module, error);
  }
  const char *between = note->length ? "; " : "";
  if (status == GT_OK) {
    if (own.length) gt_buffer_print(note, "%s%s", between, own.data);
    describe(plan, problem, found, stale, note->data ? note->data : "");
    *made = plan;
  } else {
    if (stale) gt_buffer_print(note, "%spassed over: %.600s", between, error->text);
    gt_plan_free(plan);
  }
  gt_buffer_free(&own);
  return status;
}

// Whether the problem, or one that differs in the outer count alone, was tuned on this very model, and what was found
// may still be served.
static bool is_tuned(gathertune_context *context, const gt_problem *problem, bool deterministic) {
  gt_place place = {0};
  gt_found found;
  const gt_find_options options = {.deterministic = deterministic};
  if (gt_find_next(context->finder, problem, &options, &place, &found, NULL) != GT_OK) return false;
  gt_problem of;
  bool tuned = found.origin == GT_ORIGIN_EMPTY ||
               ((found.origin == GT_ORIGIN_EXACT || (found.origin == GT_ORIGIN_NEAR && !found.guessed)) &&
                strcmp(found.winner.device, context->model) == 0 &&
                gt_problem_parse(found.winner.problem, &of, NULL) == GT_OK &&
                of.sampling.positions == problem->sampling.positions &&
                !gt_stale_is_lost(context, problem, &found));
  gt_found_free(&found);
  return tuned;
}

// Forgets what was known of the caches: another process may have written them.
static void look_again(gathertune_context *context) {
  gt_layers_look_again(&context->layers, &context->layers_options);
  gt_finder_forget(context->finder);
}

// That it fails is no failure of the request, since there are worse kernels; `note` receives why.
static void tune(gathertune_context *context, const gt_problem *problem, bool deterministic,
                 gt_buffer *note) {
  const gt_layer *last = &context->layers.list[context->layers.count - 1];
  char text[GT_PROBLEM_TEXT];
  int turn;
  gt_error failure = {0};
  if (gt_child_take_turn(last->path, context->tune_seconds, &turn, &failure) != GT_OK) {
    gt_buffer_print(note, "not tuned: %.400s", failure.text);
    return;
  }
  // Whoever had the turn before may have tuned the same.
  look_again(context);
  gt_problem_print(problem, text);
  if (!is_tuned(context, problem, deterministic)) {
    if (gt_child_tune(context->program, context->device_name, last->path, text, context->trials,
                      context->tune_seconds, &failure) != GT_OK)
      gt_buffer_print(note, "not tuned: %.400s", failure.text);
    look_again(context);
  }
  gt_child_give_turn(turn);
}

// A cache that code was not taken from, though there may have been the right one in it; NULL: none.
static const char *refused_cache(const gathertune_context *context) {
  for (size_t i = context->layers.count; i-- > 0;)
    if (context->layers.list[i].cache && !context->layers.list[i].trusted)
      return context->layers.list[i].path;
  return NULL;
}

// Why nothing came of a request: what was best, and what it lacked.
static gt_status tell(const gathertune_context *context, const char *problem, bool deterministic, gt_status status,
                      const gt_error *first, const gt_error *passed, gt_error *error) {
  gt_error copy = *first; // *error may be the very same
  const char *refused = refused_cache(context);
  if (status == GT_NOT_FOUND && context->mode == GATHERTUNE_MODE_LOOKUP && refused)
    return gt_fail(error, status,
                   "no cache that code may be taken from has a code object for %s%s: others may write to "
                   "%.300s; take that right away, or name that file as trusted",
                   problem, deterministic ? " whose results are the same bits in every run" : "", refused);
  if (status == GT_NOT_FOUND && context->mode == GATHERTUNE_MODE_LOOKUP)
    return gt_fail(
        error, status,
        "no cache has a code object for %s%s%s%.200s%s: run gathertune tune for it, or open the context with "
        "GATHERTUNE_MODE_COMPILE or GATHERTUNE_MODE_TUNE",
        problem, deterministic ? " whose results are the same bits in every run" : "", passed->status != GT_OK ? " (passed over: " : "",
        passed->status != GT_OK ? passed->text : "", passed->status != GT_OK ? ")" : "");
  return gt_fail(error, status, "%s: %.800s", problem, copy.text);
}

gt_status gt_plan_make(gathertune_context *context, const gt_problem *problem, unsigned flags,
                       gathertune_plan **plan, gt_error *error) {
  const gt_find_options options = {.deterministic = flags & GATHERTUNE_DETERMINISTIC, .with_code = true};
  gt_place place = {0};
  gt_error first = {0};
  gt_buffer note = {0};
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  bool may_tune = context->mode == GATHERTUNE_MODE_TUNE && context->layers.count &&
                  !context->layers.list[context->layers.count - 1].system;
  if (may_tune && !is_tuned(context, problem, options.deterministic)) {
    tune(context, problem, options.deterministic, &note);
    may_tune = false;
  }
  for (;;) {
    gt_found found;
    gt_error failure = {0};
    size_t noted = note.length;
    gt_status status = gt_find_next(context->finder, problem, &options, &place, &found, &failure);
    bool over = status != GT_OK;
    if (!over) status = complete(context, problem, &found, plan, &note, &failure);
    gt_found_free(&found);
    if (status == GT_OK) break;
    // What was tuned turned out not to be served any more: as if it had not been tuned.
    if (may_tune && note.length > noted) {
      gt_buffer_clear(&note);
      tune(context, problem, options.deterministic, &note);
      may_tune = false;
      place = (gt_place){0};
      continue;
    }
    // The best answer's failure says most; where it was just not there, a later one's.
    if (first.status == GT_OK || (first.status == GT_NOT_FOUND && !over)) first = failure;
    // Without a program to run, or a device, the next answer fares no better.
    if (over || failure.status == GT_IO || failure.status == GT_DEVICE_LOST) {
      tell(context, text, options.deterministic, first.status, &first, &place.passed, error);
      break;
    }
  }
  gt_buffer_free(&note);
  return *plan ? GT_OK : error->status;
}
