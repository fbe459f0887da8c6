#include "tuner/workshop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "device/device.h"
#include "tuner/child.h"
#include "tuner/timing.h"
#include "tuner/wire.h"

#define START_ATTEMPTS 3
#define QUIT_SECONDS 5.0
#define FLUSH_SECONDS 1.0 // a request is read at once, unless the worker is gone
#define MOST_DEFAULT_JOBS 16

// Between begin and end.
typedef struct {
  gt_trial trial; // so far: what the variant is, and how it failed if it did not come to the device
  bool on_device; // its request was sent, and is to be answered
  char phase[16];
} trial_in_progress;

struct gt_workshop {
  gt_workshop_options options;
  char *program;
  char *device; // as asked for; the resolved name once it was opened; NULL: none
  gt_fingerprint fingerprint;
  bool executes, opened_once;
  gt_child_loop *loop;
  gt_child *child;         // NULL when there is none at the moment
  gt_compilers *compilers; // NULL until something is to be compiled for the device
  gt_code_store *store;
  // The problem that each new worker prepares.
  char problem[GT_PROBLEM_TEXT]; // empty: none
  gt_variant direct;             // zeroed: none
  bool prepared;                 // in the present child
  gt_buffer note;                // that the worker gave with it
  trial_in_progress trial;
  double device_seconds;
};

void gt_workshop_defaults(gt_workshop_options *options) {
  *options = (gt_workshop_options){
      .compile_jobs = 1, .compile_seconds = 120, .launch_seconds = 20, .time_seconds = 120};
}

static void drop_child(gt_workshop *workshop) {
  gt_child_end(workshop->child);
  workshop->child = NULL;
  workshop->prepared = false;
}

// Time limit of a phase. Opening a device and preparing a problem may compile or page in much, as compiling
// does.
static double limit_of(const gt_workshop *workshop, const char *phase) {
  if (strcmp(phase, "launch") == 0) return workshop->options.launch_seconds;
  if (strcmp(phase, "time") == 0 || strcmp(phase, "check") == 0) return workshop->options.time_seconds;
  return workshop->options.compile_seconds;
}

// How a conversation with a worker ended. After everything but ANSWERED the worker is gone.
typedef enum { ANSWERED, DIED, TIMED_OUT, INTERRUPTED } talk_end;

// Waits for the answer to a request that was sent in `phase`. *answer is the caller's when ANSWERED;
// otherwise `failure` says what happened.
static talk_end await(gt_workshop *workshop, char phase[16], json_t **answer, gt_buffer *payload,
                      gt_buffer *failure) {
  talk_end end = DIED;
  *answer = NULL;
  for (;;) {
    json_t *message = NULL;
    double limit = limit_of(workshop, phase);
    switch (gt_child_wait(workshop->child, limit, &message, payload)) {
    case GT_CHILD_FRAME:
      if (strcmp(gt_wire_string(message, "event"), "progress") == 0) {
        snprintf(phase, 16, "%s", gt_wire_string(message, "phase"));
        json_decref(message);
        continue;
      }
      *answer = message;
      if (json_is_true(json_object_get(message, "exiting"))) drop_child(workshop);
      return ANSWERED;
    case GT_CHILD_TIMEOUT:
      end = TIMED_OUT;
      gt_buffer_print(failure, "no end of phase \"%s\" within %g s", phase, limit);
      break;
    case GT_CHILD_ENDED:
      gt_child_epitaph(workshop->child, failure);
      gt_buffer_print(failure, " in phase \"%s\"", phase);
      break;
    case GT_CHILD_GARBAGE:
      gt_buffer_print(failure, "sent garbage in phase \"%s\"", phase);
      break;
    case GT_CHILD_INTERRUPTED:
      end = INTERRUPTED;
      gt_buffer_print(failure, "interrupted");
      break;
    }
    break;
  }
  if (end != INTERRUPTED) {
    gt_buffer words = {0};
    gt_child_last_words(workshop->child, &words);
    if (words.length) gt_buffer_print(failure, "; its last words: %s", words.data);
    gt_buffer_free(&words);
  }
  drop_child(workshop);
  return end;
}

static talk_end talk(gt_workshop *workshop, json_t *request, const void *data, size_t size, json_t **answer,
                     gt_buffer *payload, gt_buffer *failure) {
  char phase[16];
  snprintf(phase, sizeof phase, "%s",
           strcmp(gt_wire_string(request, "do"), "open") == 0 ? "open" : "prepare");
  gt_child_send(workshop->child, request, data, size);
  return await(workshop, phase, answer, payload, failure);
}

// The status of a conversation that was not answered.
static gt_status fail_talk(talk_end end, const gt_buffer *failure, gt_error *error) {
  gt_status status = end == TIMED_OUT ? GT_TIMEOUT : end == INTERRUPTED ? GT_INTERRUPTED : GT_CRASH;
  return gt_fail(error, status, "%s%s", end == INTERRUPTED ? "" : "worker process: ", failure->data);
}

static gt_status status_of(const json_t *answer, gt_error *error) {
  gt_status status = gt_status_from_name(gt_wire_string(answer, "status"));
  return status == GT_OK ? GT_OK : gt_fail(error, status, "%s", gt_wire_string(answer, "message"));
}

// Starts a worker and opens the device in it.
static gt_status open_once(gt_workshop *workshop, bool *answered, gt_error *error) {
  *answered = false;
  gt_status status = gt_child_start(workshop->loop, workshop->program, &workshop->child, error);
  if (status != GT_OK) return status;
  json_t *answer = NULL;
  json_t *request = json_pack("{s:s, s:s?}", "do", "open", "device", workshop->device);
  gt_buffer payload = {0}, failure = {0};
  talk_end end = talk(workshop, request, NULL, 0, &answer, &payload, &failure);
  status = end == ANSWERED ? status_of(answer, error) : fail_talk(end, &failure, error);
  *answered = end == ANSWERED;
  if (status == GT_OK && workshop->device) {
    const char *name = gt_wire_string(answer, "device");
    if (!gt_wire_read_fingerprint(json_object_get(answer, "fingerprint"), &workshop->fingerprint) || !*name) {
      status = gt_fail(error, GT_CORRUPT, "the worker process told no fingerprint of %s", workshop->device);
    } else {
      char *resolved = gt_strdup(name);
      // A recorded device's short name does not tell its file, which a later worker needs.
      if (strncmp(workshop->device, "recorded:", 9) == 0) {
        free(resolved);
        resolved = gt_strdup(workshop->device);
      }
      free(workshop->device);
      workshop->device = resolved;
      workshop->executes = json_is_true(json_object_get(answer, "executes"));
    }
  }
  if (status != GT_OK) drop_child(workshop);
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

// Makes sure that there is a worker with an open device.
static gt_status ensure_open(gt_workshop *workshop, gt_error *error) {
  gt_status status = GT_OK;
  for (int attempt = 0; !workshop->child && attempt < START_ATTEMPTS; attempt++) {
    bool answered;
    if (attempt) usleep(200000); // a device needs a moment to recover from a killed process
    status = open_once(workshop, &answered, error);
    if (status == GT_OK) workshop->opened_once = true;
    if (status == GT_INTERRUPTED) break;
    if (status != GT_OK && answered && !workshop->opened_once) break; // there is no such device, then
  }
  return status;
}

// The compilers, which know the device from its fingerprint.
static gt_compilers *compilers_of(gt_workshop *workshop) {
  if (workshop->compilers) return workshop->compilers;
  const gt_backend *backend = gt_backend_find(workshop->fingerprint.backend);
  // Opening a GPU in many processes costs time and memory of it.
  bool alone = backend && backend->compiles_alone;
  workshop->compilers =
      gt_compilers_open(workshop->loop, &(gt_compilers_options){.program = workshop->program,
                                                                .device = alone ? NULL : workshop->device,
                                                                .fingerprint = &workshop->fingerprint,
                                                                .seconds = workshop->options.compile_seconds,
                                                                .jobs = workshop->options.compile_jobs,
                                                                .on_demand = workshop->fingerprint.is_cpu});
  gt_compilers_use_store(workshop->compilers, workshop->store);
  return workshop->compilers;
}

// One request of the preparation. *died: a new worker may do better.
static gt_status prepare_step(gt_workshop *workshop, json_t *request, const void *data, size_t size,
                              bool *died, gt_error *error) {
  json_t *answer = NULL;
  gt_buffer payload = {0}, failure = {0};
  talk_end end = talk(workshop, request, data, size, &answer, &payload, &failure);
  gt_status status = end != ANSWERED ? fail_talk(end, &failure, error) : GT_OK;
  // A result that failed is no failure of the request.
  if (end == ANSWERED && !json_object_get(answer, "outcome")) status = status_of(answer, error);
  *died = end == DIED || end == TIMED_OUT || (status == GT_OK && !workshop->child);
  const char *note = gt_wire_string(answer, "note");
  if (*note) gt_buffer_print(&workshop->note, "%s%s", workshop->note.length ? "; " : "", note);
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

// Buffers and reference first: meanwhile `direct` is compiled.
static gt_status prepare_once(gt_workshop *workshop, bool *died, gt_error *error) {
  gt_status status = ensure_open(workshop, error);
  *died = false;
  if (status != GT_OK) return status;
  gt_buffer_clear(&workshop->note);
  json_t *request = json_pack("{s:s, s:s}", "do", "problem", "problem", workshop->problem);
  status = prepare_step(workshop, request, NULL, 0, died, error);
  if (status == GT_OK && !*died && workshop->direct.source) {
    const gt_compiled *compiled;
    status = gt_compilers_get(compilers_of(workshop), &workshop->direct, &compiled, error);
    if (status == GT_OK && compiled->status == GT_OK) {
      request = json_pack("{s:s, s:o}", "do", "direct", "variant", gt_variant_to_json(&workshop->direct));
      status = prepare_step(workshop, request, compiled->code.data, compiled->code.length, died, error);
    }
  }
  workshop->prepared = status == GT_OK && workshop->child;
  return status;
}

// Makes sure that the worker has prepared the problem. `direct` is done without when it takes the worker
// down.
static gt_status ensure_prepared(gt_workshop *workshop, gt_error *error) {
  gt_status status = GT_OK;
  for (int attempt = 0; !workshop->prepared && attempt < START_ATTEMPTS; attempt++) {
    bool died;
    if (!*workshop->problem) return gt_fail(error, GT_USAGE, "no problem was given to the workshop");
    status = prepare_once(workshop, &died, error);
    if (!died) break;
    gt_variant_free(&workshop->direct);
  }
  if (status == GT_OK && !workshop->prepared)
    status = gt_fail(error, GT_DEVICE_LOST, "no worker process can prepare the problem");
  return status;
}

gt_status gt_workshop_open(const char *device, const gt_workshop_options *options, gt_workshop **result,
                           gt_error *error) {
  gt_workshop *workshop = gt_alloc(sizeof *workshop);
  if (options)
    workshop->options = *options;
  else
    gt_workshop_defaults(&workshop->options);
  const char *program = workshop->options.program;
  workshop->program = gt_strdup(program ? program : "/proc/self/exe");
  workshop->options.program = workshop->program;
  workshop->device = device ? gt_strdup(device) : NULL;
  gt_status status = gt_child_loop_make(&workshop->loop, error);
  if (status == GT_OK) status = ensure_open(workshop, error);
  if (status != GT_OK) {
    gt_workshop_close(workshop);
    workshop = NULL;
  }
  *result = workshop;
  return status;
}

void gt_workshop_close(gt_workshop *workshop) {
  if (!workshop) return;
  if (workshop->child) gt_child_quit(workshop->child, QUIT_SECONDS);
  drop_child(workshop);
  gt_compilers_close(workshop->compilers);
  gt_child_loop_free(workshop->loop);
  gt_variant_free(&workshop->direct);
  gt_trial_free(&workshop->trial.trial);
  gt_buffer_free(&workshop->note);
  free(workshop->device);
  free(workshop->program);
  free(workshop);
}

const gt_fingerprint *gt_workshop_fingerprint(const gt_workshop *workshop) {
  return &workshop->fingerprint;
}
const char *gt_workshop_device(const gt_workshop *workshop) {
  return workshop->device ? workshop->device : "";
}
bool gt_workshop_executes(const gt_workshop *workshop) {
  return workshop->executes;
}

const char *gt_workshop_note(const gt_workshop *workshop) {
  return workshop->note.data ? workshop->note.data : "";
}

void gt_workshop_use_store(gt_workshop *workshop, gt_code_store *store) {
  workshop->store = store;
  if (workshop->compilers) gt_compilers_use_store(workshop->compilers, store);
}

void gt_workshop_compile_ahead(gt_workshop *workshop, const gt_variant *variant) {
  gt_compilers_ask(compilers_of(workshop), variant);
}

gt_status gt_workshop_code(gt_workshop *workshop, const gt_variant *variant, const gt_compiled **compiled,
                           gt_error *error) {
  return gt_compilers_get(compilers_of(workshop), variant, compiled, error);
}

void gt_workshop_forget(gt_workshop *workshop) {
  if (workshop->compilers) gt_compilers_forget(workshop->compilers);
}

bool gt_workshop_is_ready(const gt_workshop *workshop, const gt_variant *variant) {
  return workshop->child && workshop->prepared && workshop->compilers &&
         gt_compilers_has(workshop->compilers, variant);
}

gt_compilers_counts gt_workshop_compile_counts(const gt_workshop *workshop) {
  return workshop->compilers ? gt_compilers_count(workshop->compilers) : (gt_compilers_counts){0};
}

double gt_workshop_device_seconds(const gt_workshop *workshop) {
  return workshop->device_seconds;
}

int gt_workshop_compile_jobs(void) {
  int jobs = (int)uv_available_parallelism() - 1;
  return jobs < 1 ? 1 : jobs > MOST_DEFAULT_JOBS ? MOST_DEFAULT_JOBS : jobs;
}

static json_t *timing_to_json(const gt_timing_options *timing) {
  return json_pack("{s:f, s:f, s:i, s:i, s:f, s:f, s:b}", "tolerance", timing->tolerance, "batch_us",
                   timing->batch_us, "min_batches", timing->min_batches, "max_batches", timing->max_batches,
                   "max_seconds", timing->max_seconds, "drop_us", timing->drop_us, "warm", (int)timing->warm);
}

static void copy_variant(const gt_variant *from, gt_variant *to) {
  *to = *from;
  to->configuration = gt_strdup(from->configuration);
  to->family = gt_strdup(from->family);
  to->source = gt_strdup(from->source);
}

gt_status gt_workshop_problem(gt_workshop *workshop, const gt_problem *problem, const gt_variant *direct,
                              gt_error *error) {
  gt_problem_print(problem, workshop->problem);
  gt_variant_free(&workshop->direct);
  if (direct) copy_variant(direct, &workshop->direct);
  workshop->prepared = false;
  if (direct) gt_compilers_ask(compilers_of(workshop), direct);
  return ensure_prepared(workshop, error);
}

static void read_samples(const json_t *answer, gt_trial *trial) {
  const json_t *samples = json_object_get(answer, "samples_us");
  free(trial->samples_us);
  trial->n_samples = json_array_size(samples);
  trial->samples_us = gt_alloc(trial->n_samples * sizeof *trial->samples_us);
  for (size_t i = 0; i < trial->n_samples; i++)
    trial->samples_us[i] = json_number_value(json_array_get(samples, i));
  trial->median_us = gt_median(trial->samples_us, trial->n_samples);
  trial->spread_us = gt_spread(trial->samples_us, trial->n_samples, trial->median_us);
}

static void read_result(const json_t *answer, gt_trial *trial) {
  if (!gt_outcome_from_name(gt_wire_string(answer, "outcome"), &trial->outcome))
    trial->outcome = GT_OUTCOME_CRASH; // an answer without an outcome is no answer
  free(trial->message);
  trial->message = gt_strdup(gt_wire_string(answer, "message"));
  trial->registers = (int)json_integer_value(json_object_get(answer, "registers"));
  trial->lds_bytes = (int)json_integer_value(json_object_get(answer, "lds_bytes"));
  trial->scratch_bytes = (int)json_integer_value(json_object_get(answer, "scratch_bytes"));
  trial->checked = json_is_true(json_object_get(answer, "checked"));
  read_samples(answer, trial);
  if (trial->outcome != GT_OUTCOME_OK) trial->median_us = trial->spread_us = 0;
}

static gt_outcome outcome_of(gt_status status) {
  switch (status) {
  case GT_OK:
    return GT_OUTCOME_OK;
  case GT_CRASH:
    return GT_OUTCOME_CRASH;
  case GT_TIMEOUT:
    return GT_OUTCOME_TIMEOUT;
  case GT_OUT_OF_MEMORY:
    return GT_OUTCOME_OUT_OF_MEMORY;
  default:
    return GT_OUTCOME_COMPILE_ERROR;
  }
}

gt_status gt_workshop_begin_trial(gt_workshop *workshop, const gt_variant *variant, bool check,
                                  const gt_timing_options *timing, gt_error *error) {
  const gt_compiled *compiled;
  trial_in_progress *now = &workshop->trial;
  gt_trial_free(&now->trial);
  *now = (trial_in_progress){.trial = {.registers = -1, .lds_bytes = -1, .scratch_bytes = -1}};
  gt_compilers_ask(compilers_of(workshop), variant); // may go on while the problem is prepared
  gt_status status = ensure_prepared(workshop, error);
  if (status == GT_OK) status = gt_workshop_code(workshop, variant, &compiled, error);
  if (status != GT_OK) return status;
  now->trial.configuration = gt_strdup(variant->configuration);
  memcpy(now->trial.source_hash, variant->source_hash, sizeof now->trial.source_hash);
  now->trial.compile_ms = compiled->ms;
  now->trial.outcome = outcome_of(compiled->status);
  if (compiled->status != GT_OK) {
    now->trial.message = gt_strdup(compiled->message.data ? compiled->message.data : "");
    return GT_OK;
  }
  json_t *request = json_pack("{s:s, s:o, s:b, s:o}", "do", "trial", "variant", gt_variant_to_json(variant),
                              "check", (int)check, "timing", timing_to_json(timing));
  snprintf(now->phase, sizeof now->phase, "prepare");
  gt_child_send(workshop->child, request, compiled->code.data, compiled->code.length);
  gt_child_flush(workshop->child, FLUSH_SECONDS);
  now->on_device = true;
  json_decref(request);
  return GT_OK;
}

gt_status gt_workshop_end_trial(gt_workshop *workshop, gt_trial *trial, gt_error *error) {
  trial_in_progress *now = &workshop->trial;
  *trial = now->trial;
  now->trial = (gt_trial){0};
  if (!now->on_device) return GT_OK;
  now->on_device = false;
  gt_status status = GT_OK;
  json_t *answer = NULL;
  gt_buffer payload = {0}, failure = {0};
  talk_end end = await(workshop, now->phase, &answer, &payload, &failure);
  if (end == ANSWERED && !json_object_get(answer, "outcome")) {
    status = status_of(answer, error); // the request was at fault, not the variant
  } else if (end == ANSWERED) {
    read_result(answer, trial);
    workshop->device_seconds += json_number_value(json_object_get(answer, "device_s"));
  } else if (end == INTERRUPTED) {
    status = fail_talk(end, &failure, error);
  } else {
    trial->outcome = end == TIMED_OUT ? GT_OUTCOME_TIMEOUT : GT_OUTCOME_CRASH;
    trial->message = gt_strdup(failure.data);
  }
  if (status != GT_OK) gt_trial_free(trial);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

void gt_workshop_give_up_trial(gt_workshop *workshop) {
  if (workshop->trial.on_device) drop_child(workshop);
  gt_trial_free(&workshop->trial.trial);
  workshop->trial = (trial_in_progress){0};
}

gt_status gt_workshop_trial(gt_workshop *workshop, const gt_variant *variant, bool check,
                            const gt_timing_options *timing, gt_trial *trial, gt_error *error) {
  *trial = (gt_trial){0};
  gt_status status = gt_workshop_begin_trial(workshop, variant, check, timing, error);
  return status == GT_OK ? gt_workshop_end_trial(workshop, trial, error) : status;
}

gt_status gt_workshop_retime(gt_workshop *workshop, const gt_variant *variants, size_t count,
                             const gt_timing_options *timing, gt_trial *trials, gt_error *error) {
  gt_status status = ensure_prepared(workshop, error);
  json_t *answer = NULL, *list = json_array(), *sizes = json_array();
  size_t *trial_of = gt_alloc((count ? count : 1) * sizeof *trial_of), sent = 0;
  gt_buffer codes = {0}, payload = {0}, failure = {0};
  for (size_t i = 0; i < count; i++) gt_compilers_ask(compilers_of(workshop), &variants[i]);
  for (size_t i = 0; i < count && status == GT_OK; i++) {
    const gt_compiled *compiled;
    status = gt_workshop_code(workshop, &variants[i], &compiled, error);
    if (status != GT_OK || compiled->status != GT_OK) continue;
    json_array_append_new(list, gt_variant_to_json(&variants[i]));
    json_array_append_new(sizes, json_integer((json_int_t)compiled->code.length));
    gt_buffer_append(&codes, compiled->code.data, compiled->code.length);
    trial_of[sent++] = i;
  }
  json_t *request = json_pack("{s:s, s:o, s:o, s:o}", "do", "retime", "variants", list, "code_bytes", sizes,
                              "timing", timing_to_json(timing));
  if (status == GT_OK) {
    talk_end end = talk(workshop, request, codes.data, codes.length, &answer, &payload, &failure);
    status = end == ANSWERED ? status_of(answer, error) : fail_talk(end, &failure, error);
  }
  const json_t *results = json_object_get(answer, "results");
  for (size_t i = 0; i < sent && status == GT_OK; i++) {
    const json_t *result = json_array_get(results, i);
    workshop->device_seconds += json_number_value(json_object_get(result, "device_s"));
    if (strcmp(gt_wire_string(result, "status"), "OK") == 0) read_samples(result, &trials[trial_of[i]]);
  }
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&codes);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  free(trial_of);
  return status;
}

gt_status gt_workshop_verify(gt_workshop *workshop, const gt_variant *variant, const gt_case *which,
                             gt_outcome *outcome, gt_buffer *message, gt_error *error) {
  char text[GT_PROBLEM_TEXT];
  const gt_compiled *compiled;
  gt_buffer_clear(message);
  gt_status status = ensure_open(workshop, error);
  if (status == GT_OK) status = gt_workshop_code(workshop, variant, &compiled, error);
  if (status != GT_OK) return status;
  *outcome = outcome_of(compiled->status);
  if (compiled->status != GT_OK) {
    gt_buffer_append(message, compiled->message.data, compiled->message.length);
    return GT_OK;
  }
  gt_problem_print(which->problem, text);
  size_t in = (size_t)gt_problem_in_elements(which->problem) * sizeof(double);
  size_t out = (size_t)gt_problem_out_elements(which->problem) * sizeof(double);
  gt_buffer values = {0}, payload = {0}, failure = {0};
  gt_buffer_append(&values, which->grad_output, out);
  gt_buffer_append(&values, which->expected, in);
  gt_buffer_append(&values, which->term, in);
  gt_buffer_append(&values, compiled->code.data, compiled->code.length);

  json_t *answer = NULL;
  json_t *request =
      json_pack("{s:s, s:s, s:o}", "do", "verify", "problem", text, "variant", gt_variant_to_json(variant));
  talk_end end = talk(workshop, request, values.data, values.length, &answer, &payload, &failure);
  if (end == INTERRUPTED) {
    status = fail_talk(end, &failure, error);
  } else if (end != ANSWERED) {
    *outcome = end == TIMED_OUT ? GT_OUTCOME_TIMEOUT : GT_OUTCOME_CRASH;
    gt_buffer_append(message, failure.data, failure.length);
  } else if (!gt_outcome_from_name(gt_wire_string(answer, "outcome"), outcome) ||
             strcmp(gt_wire_string(answer, "status"), "UNSUPPORTED") == 0) {
    status = status_of(answer, error);
  } else {
    gt_buffer_print(message, "%s", gt_wire_string(answer, "message"));
  }
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&values);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

static gt_moved read_moved(const json_t *json) {
  return (gt_moved){.lanes = (uint64_t)json_integer_value(json_object_get(json, "lanes")),
                    .waves = (uint64_t)json_integer_value(json_object_get(json, "waves")),
                    .blocks = (uint64_t)json_integer_value(json_object_get(json, "blocks")),
                    .dies = (uint64_t)json_integer_value(json_object_get(json, "dies"))};
}

gt_status gt_workshop_traffic(gt_workshop *workshop, const gt_variant *variant, const gt_problem *problem,
                              const gt_buffer *code, gt_traffic *traffic, gt_error *error) {
  char text[GT_PROBLEM_TEXT];
  gt_status status = ensure_open(workshop, error);
  if (status != GT_OK) return status;
  gt_problem_print(problem, text);
  json_t *answer = NULL, *request = json_pack("{s:s, s:s, s:o}", "do", "traffic", "problem", text, "variant",
                                              gt_variant_to_json(variant));
  gt_buffer payload = {0}, failure = {0};
  talk_end end = talk(workshop, request, code->data, code->length, &answer, &payload, &failure);
  status = end == ANSWERED ? status_of(answer, error) : fail_talk(end, &failure, error);
  *traffic = (gt_traffic){.read = read_moved(json_object_get(answer, "read")),
                          .written = read_moved(json_object_get(answer, "written"))};
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

gt_status gt_workshop_compile(gt_workshop *workshop, const char *backend, const char *arch,
                              const char *source, gt_buffer *code, gt_buffer *log, gt_error *error) {
  gt_status status = ensure_open(workshop, error);
  if (status != GT_OK) return status;
  json_t *answer = NULL;
  json_t *request = json_pack("{s:s, s:s, s:s, s:o}", "do", "compile", "backend", backend, "arch", arch,
                              "source", gt_wire_text(source));
  gt_buffer failure = {0};
  gt_buffer_clear(code);
  gt_buffer_clear(log);
  talk_end end = talk(workshop, request, NULL, 0, &answer, code, &failure);
  status = end == ANSWERED ? status_of(answer, error) : fail_talk(end, &failure, error);
  if (end == ANSWERED) gt_buffer_print(log, "%s", gt_wire_string(answer, "log"));
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&failure);
  return status;
}
