// Opening and closing, requests, and executing: the functions of include/gathertune.h.
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "runtime/child.h"
#include "runtime/inside.h"

#define SAME(name, number, text) \
  _Static_assert((int)GATHERTUNE_##name == (int)GT_##name, "one set of numbers");
GATHERTUNE_STATUS_LIST(SAME)
#undef SAME

enum { DEFAULT_TRIALS = 64, COMPILE_SECONDS = 120, TUNE_SECONDS = 600 };

const char *gathertune_version(void) {
  return GT_VERSION;
}

const char *gathertune_status_name(gathertune_status status) {
  return gt_status_name((gt_status)status);
}

const char *gathertune_status_text(gathertune_status status) {
  return gt_status_text((gt_status)status);
}

const char *gathertune_origin_name(gathertune_origin origin) {
  return (unsigned)origin <= GATHERTUNE_EMPTY ? gt_origin_name((gt_origin)origin) : "unknown";
}

gathertune_status gt_context_fail(const gathertune_context *context, const gt_error *error) {
  gt_messages_set((gt_messages *)&context->messages, error->text);
  return (gathertune_status)error->status;
}

static gathertune_status refuse(const gathertune_context *context, gt_status status, const char *text) {
  gt_messages_set((gt_messages *)&context->messages, text);
  return (gathertune_status)status;
}

// --- opening
// ------------------------------------------------------------------------------------------------

static char **copy_list(const char *const *list, size_t count) {
  if (!list) return NULL;
  char **copy = gt_alloc((count + 1) * sizeof *copy);
  for (size_t i = 0; i < count; i++) copy[i] = gt_strdup(list[i] ? list[i] : "");
  return copy;
}

// The options that this version knows of a structure that may be of another one.
static gt_status read_options(const gathertune_options *given, gathertune_options *options, gt_error *error) {
  *options = (gathertune_options)GATHERTUNE_OPTIONS_INIT;
  if (!given) return GT_OK;
  if (given->size < sizeof(size_t) + sizeof(char *) || given->size > 4096)
    return gt_fail(error, GT_USAGE,
                   "gathertune_options.size is %zu: begin with GATHERTUNE_OPTIONS_INIT, whose size is %zu",
                   given->size, sizeof *options);
  memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
  if ((unsigned)options->mode > GATHERTUNE_MODE_TUNE)
    return gt_fail(error, GT_USAGE,
                   "gathertune_options.mode is %d: there are 0 (lookup), 1 (compile), 2 (tune)",
                   (int)options->mode);
  if (options->trials < 0 || !(options->seconds >= 0))
    return gt_fail(error, GT_USAGE, "gathertune_options: trials and seconds are 0 or more");
  if (options->caches && options->n_caches == 0)
    return gt_fail(error, GT_USAGE, "gathertune_options.caches is an empty list: NULL means the usual ones");
  return GT_OK;
}

static gt_status open_all(gathertune_context *context, const gathertune_options *options, gt_error *error) {
  context->mode = options->mode;
  context->trials = options->trials ? options->trials : DEFAULT_TRIALS;
  context->compile_seconds = options->seconds > 0 ? options->seconds : COMPILE_SECONDS;
  context->tune_seconds = options->seconds > 0 ? options->seconds : TUNE_SECONDS;
  context->caches = copy_list(options->caches, options->n_caches);
  context->trusted = copy_list(options->trusted, options->n_trusted);
  context->layers_options = (gt_layers_options){.caches = (const char *const *)context->caches,
                                                .n_caches = options->n_caches,
                                                .trusted = (const char *const *)context->trusted,
                                                .n_trusted = context->trusted ? options->n_trusted : 0,
                                                .keep = context->mode != GATHERTUNE_MODE_LOOKUP};
  if (context->mode != GATHERTUNE_MODE_LOOKUP) context->program = gt_child_program(options->program);
  gt_status status = gt_device_attach(options->device, options->queue, &context->device, error);
  if (status != GT_OK) {
    context->device = (gt_open_device){0};
    return status;
  }
  const gt_fingerprint *device = &context->device.fingerprint;
  snprintf(context->model, sizeof context->model, "%s / %s / %s / %d", device->backend, device->name,
           device->arch, device->compute_units);
  // A recorded device's name is a path, which the resolved name may not hold in full.
  context->device_name =
      gt_strdup(strncmp(context->device.name, "recorded:", 9) == 0 ? options->device : context->device.name);
  status = gt_layers_open(&context->layers_options, &context->layers, error);
  if (status == GT_OK) context->finder = gt_finder_open(&context->layers, device, NULL);
  return status;
}

gathertune_status gathertune_open(const gathertune_options *given, gathertune_context **result) {
  gathertune_context *context = gt_alloc(sizeof *context);
  gathertune_options options;
  *result = context;
  gt_messages_open(&context->messages);
  pthread_mutex_init(&context->making, NULL);
  gt_status status = read_options(given, &options, &context->failure);
  if (status == GT_OK) status = open_all(context, &options, &context->failure);
  const char *notes = context->layers.notes.data;
  context->notes = gt_strdup(notes ? notes : "");
  return status == GT_OK ? GATHERTUNE_OK : gt_context_fail(context, &context->failure);
}

static void free_list(char **list, size_t count) {
  for (size_t i = 0; list && i < count; i++) free(list[i]);
  free(list);
}

void gathertune_close(gathertune_context *context) {
  if (!context) return;
  const gt_open_device *open = &context->device;
  while (context->plans) {
    gathertune_plan *next = context->plans->next;
    gt_plan_free(context->plans);
    context->plans = next;
  }
  while (context->codes) {
    gt_loaded_code *next = context->codes->next;
    open->backend->unload(open->device, context->codes->module);
    free(context->codes);
    context->codes = next;
  }
  gt_finder_close(context->finder);
  gt_layers_close(&context->layers);
  gt_device_close(&context->device);
  gt_answers_free(&context->answers);
  gt_messages_close(&context->messages);
  pthread_mutex_destroy(&context->making);
  free_list(context->caches, context->layers_options.n_caches);
  free_list(context->trusted, context->layers_options.n_trusted);
  free(context->program);
  free(context->device_name);
  free(context->notes);
  free(context);
}

const char *gathertune_message(const gathertune_context *context) {
  return context ? gt_messages_get(&context->messages) : "there is no context";
}

const char *gathertune_notes(const gathertune_context *context) {
  return context->notes;
}

const char *gathertune_model(const gathertune_context *context) {
  return context->model;
}

// --- requests
// -----------------------------------------------------------------------------------------------

// Whether the same request would fail the same way.
static bool is_final(gt_status status) {
  return status == GT_OK || status == GT_NOT_FOUND || status == GT_UNSUPPORTED || status == GT_COMPILE ||
         status == GT_USAGE;
}

static gathertune_status give(const gathertune_context *context, const gt_answer *answer,
                              const gathertune_plan **plan) {
  *plan = answer->plan;
  return answer->status == GT_OK ? GATHERTUNE_OK : refuse(context, answer->status, answer->message);
}

// The first time for this text, with context->making held.
static gathertune_status make(gathertune_context *context, const char *text, unsigned flags,
                              const gathertune_plan **result) {
  const gt_answer *answer = gt_answers_find(&context->answers, text, flags); // another thread was first
  if (answer) return give(context, answer, result);
  gt_problem problem;
  gt_error error = {0};
  char canonical[GT_PROBLEM_TEXT] = "";
  gathertune_plan *plan = NULL;
  gt_status status = gt_problem_parse(text, &problem, &error);
  if (status == GT_OK) {
    gt_problem_print(&problem, canonical);
    answer = gt_answers_find(&context->answers, canonical, flags);
    if (!answer) status = gt_plan_make(context, &problem, flags, &plan, &error);
  }
  if (answer) {
    gt_answers_add(&context->answers, text, flags, answer->status, answer->plan, answer->message);
    return give(context, answer, result);
  }
  if (plan) {
    plan->next = context->plans;
    context->plans = plan;
  }
  if (is_final(status)) {
    gt_answers_add(&context->answers, text, flags, status, plan, status == GT_OK ? NULL : error.text);
    if (*canonical && strcmp(canonical, text) != 0)
      gt_answers_add(&context->answers, canonical, flags, status, plan, status == GT_OK ? NULL : error.text);
  }
  *result = plan;
  return status == GT_OK ? GATHERTUNE_OK : gt_context_fail(context, &error);
}

gathertune_status gathertune_get_plan(gathertune_context *context, const char *problem, unsigned flags,
                                      const gathertune_plan **plan) {
  *plan = NULL;
  if (context->failure.status != GT_OK) return gt_context_fail(context, &context->failure);
  if (!problem) return refuse(context, GT_USAGE, "the problem is NULL");
  const gt_answer *answer = gt_answers_find(&context->answers, problem, flags);
  if (answer) return give(context, answer, plan);
  if (flags & ~(unsigned)GATHERTUNE_DETERMINISTIC)
    return refuse(context, GT_USAGE,
                  "unknown flags of a request: there is GATHERTUNE_DETERMINISTIC (1), or 0");
  pthread_mutex_lock(&context->making);
  gathertune_status status = make(context, problem, flags, plan);
  pthread_mutex_unlock(&context->making);
  return status;
}

void gathertune_describe(const gathertune_plan *plan, gathertune_plan_info *info) {
  size_t size = info->size < sizeof *info ? info->size : sizeof *info, start = sizeof info->size;
  if (size > offsetof(gathertune_plan_info, stale) &&
      !atomic_load_explicit(&plan->judged, memory_order_acquire)) {
    pthread_mutex_lock(&plan->context->making);
    if (!atomic_load_explicit(&plan->judged, memory_order_relaxed)) gt_plan_judge((gathertune_plan *)plan);
    pthread_mutex_unlock(&plan->context->making);
  }
  if (size > start) memcpy((char *)info + start, (const char *)&plan->info + start, size - start);
}

uint64_t gathertune_workspace(const gathertune_plan *plan) {
  return plan->info.workspace_bytes;
}

// --- executing
// ----------------------------------------------------------------------------------------------

static gathertune_status refuse_buffers(const gathertune_plan *plan, const gathertune_buffers *buffers) {
  gt_error error;
  gt_plan_refuse_buffers(plan, buffers, &error);
  return gt_context_fail(plan->context, &error);
}

gathertune_status gathertune_execute(const gathertune_plan *plan, void *stream,
                                     const gathertune_buffers *buffers) {
  if (plan->n_launches == 0) return GATHERTUNE_OK;
  if (!buffers) return refuse_buffers(plan, buffers);
  gt_arguments arguments = {.n_pointers = plan->n_pointers, .integers = {plan->outer}, .n_integers = 1};
  for (int i = 0; i < plan->n_buffers; i++) {
    uintptr_t address = gt_address_of(buffers, &plan->buffers[i]);
    if (!address || address & (plan->buffers[i].alignment - 1)) return refuse_buffers(plan, buffers);
    arguments.pointers[i] = address;
  }
  gt_error error; // filled on failure
  for (int i = 0; i < plan->n_launches; i++) {
    gt_status status =
        plan->backend->launch_on(plan->device, stream, plan->launches[i].kernel, plan->launches[i].grid,
                                 plan->launches[i].block, &arguments, &error);
    if (status != GT_OK) return gt_context_fail(plan->context, &error);
  }
  return GATHERTUNE_OK;
}
