#include "tuner/workshop_inside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "device/device.h"
#include "tuner/timing.h"
#include "tuner/wire.h"

#define START_ATTEMPTS 3
#define QUIT_SECONDS 5.0
#define MOST_DEFAULT_JOBS 16

void gt_workshop_defaults(gt_workshop_options *options) {
  *options = (gt_workshop_options){
      .compile_jobs = 1, .compile_seconds = 120, .launch_seconds = 20, .time_seconds = 120};
}

void gt_workshop_drop(gt_workshop *workshop) {
  gt_child_end(workshop->child);
  workshop->child = NULL;
  workshop->prepared = workshop->preparing = false;
}

// Time limit of a phase. Opening a device and preparing a problem may compile or page in much, as compiling
// does.
static double limit_of(const gt_workshop *workshop, const char *phase) {
  if (strcmp(phase, "launch") == 0) return workshop->options.launch_seconds;
  if (strcmp(phase, "time") == 0 || strcmp(phase, "check") == 0) return workshop->options.time_seconds;
  return workshop->options.compile_seconds;
}

// Waits for the answer to a request that was sent in `phase`. *answer is the caller's when GT_TALK_ANSWERED;
// otherwise `failure` says what happened.
gt_talk_end gt_workshop_await(gt_workshop *workshop, char phase[16], json_t **answer, gt_buffer *payload,
                              gt_buffer *failure) {
  gt_talk_end end = GT_TALK_DIED;
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
      if (json_is_true(json_object_get(message, "exiting"))) gt_workshop_drop(workshop);
      return GT_TALK_ANSWERED;
    case GT_CHILD_TIMEOUT:
      end = GT_TALK_TIMED_OUT;
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
      end = GT_TALK_INTERRUPTED;
      gt_buffer_print(failure, "interrupted");
      break;
    }
    break;
  }
  workshop->disturbed = gt_child_was_disturbed(workshop->child);
  if (end != GT_TALK_INTERRUPTED) {
    gt_buffer words = {0};
    gt_child_last_words(workshop->child, &words);
    if (words.length) gt_buffer_print(failure, "; its last words: %s", words.data);
    gt_buffer_free(&words);
  }
  gt_workshop_drop(workshop);
  return end;
}

gt_talk_end gt_workshop_talk(gt_workshop *workshop, json_t *request, const void *data, size_t size,
                             json_t **answer, gt_buffer *payload, gt_buffer *failure) {
  char phase[16];
  snprintf(phase, sizeof phase, "%s",
           strcmp(gt_wire_string(request, "do"), "open") == 0 ? "open" : "prepare");
  gt_child_send(workshop->child, request, data, size);
  return gt_workshop_await(workshop, phase, answer, payload, failure);
}

// The status of a conversation that was not answered.
gt_status gt_workshop_fail(gt_talk_end end, const gt_buffer *failure, gt_error *error) {
  gt_status status = end == GT_TALK_TIMED_OUT     ? GT_TIMEOUT
                     : end == GT_TALK_INTERRUPTED ? GT_INTERRUPTED
                                                  : GT_CRASH;
  return gt_fail(error, status, "%s%s", end == GT_TALK_INTERRUPTED ? "" : "worker process: ", failure->data);
}

gt_status gt_workshop_status(const json_t *answer, gt_error *error) {
  gt_status status = gt_status_from_name(gt_wire_string(answer, "status"));
  return status == GT_OK ? GT_OK : gt_fail(error, status, "%s", gt_wire_string(answer, "message"));
}

// A device that is gone makes drivers count the others anew.
static bool is_same_device(const gt_fingerprint *a, const gt_fingerprint *b) {
  return strcmp(a->pci_id, b->pci_id) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->arch, b->arch) == 0;
}

// Starts a worker and opens the device in it.
static gt_status open_once(gt_workshop *workshop, bool *answered, gt_error *error) {
  *answered = false;
  gt_status status = gt_child_start(workshop->loop, workshop->program, &workshop->child, error);
  if (status != GT_OK) return status;
  json_t *answer = NULL;
  json_t *request = json_pack("{s:s, s:s?}", "do", "open", "device", workshop->device);
  gt_buffer payload = {0}, failure = {0};
  gt_talk_end end = gt_workshop_talk(workshop, request, NULL, 0, &answer, &payload, &failure);
  status =
      end == GT_TALK_ANSWERED ? gt_workshop_status(answer, error) : gt_workshop_fail(end, &failure, error);
  *answered = end == GT_TALK_ANSWERED;
  if (status == GT_OK && workshop->device) {
    const char *name = gt_wire_string(answer, "device");
    gt_fingerprint print = {0};
    if (!gt_wire_read_fingerprint(json_object_get(answer, "fingerprint"), &print) || !*name) {
      status = gt_fail(error, GT_CORRUPT, "the worker process told no fingerprint of %s", workshop->device);
    } else if (workshop->opened_once && !is_same_device(&print, &workshop->fingerprint)) {
      status = gt_fail(error, GT_DEVICE_LOST, "%s is another device now: %s at %s, not %s at %s",
                       workshop->device, print.name, print.pci_id, workshop->fingerprint.name,
                       workshop->fingerprint.pci_id);
    } else {
      workshop->fingerprint = print;
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
  if (status != GT_OK) gt_workshop_drop(workshop);
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

// A worker that prepares what is of no interest any more would not listen: a new one will.
static void abandon_problem(gt_workshop *workshop) {
  if (workshop->preparing) gt_workshop_drop(workshop);
}

static gt_status open_again(gt_workshop *workshop, gt_error *error) {
  gt_status status = GT_OK;
  for (int attempt = 0; !workshop->child && attempt < START_ATTEMPTS; attempt++) {
    bool answered;
    if (attempt) usleep(200000); // a device needs a moment to recover from a killed process
    status = open_once(workshop, &answered, error);
    if (status == GT_OK) workshop->opened_once = true;
    if (status == GT_INTERRUPTED) break;
    if (status != GT_OK && answered && !workshop->opened_once) break; // there is no such device, then
  }
  if (status == GT_OK || status == GT_INTERRUPTED || !workshop->opened_once || !workshop->device) return status;
  gt_error reason = error ? *error : (gt_error){0};
  return gt_fail(error, GT_DEVICE_LOST, "%s does not open again: %s", workshop->device, reason.text);
}

// Makes sure that there is a worker with an open device, which listens.
gt_status gt_workshop_ensure_open(gt_workshop *workshop, gt_error *error) {
  abandon_problem(workshop);
  return open_again(workshop, error);
}

gt_status gt_workshop_check(gt_workshop *workshop, gt_error *error) {
  return gt_workshop_ensure_open(workshop, error);
}

// The compilers, which know the device from its fingerprint.
gt_compilers *gt_workshop_compilers(gt_workshop *workshop) {
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

// One request of the preparation, which is sent already. *died: a new worker may do better.
static gt_status prepare_step(gt_workshop *workshop, bool *died, gt_error *error) {
  char phase[16] = "prepare";
  json_t *answer = NULL;
  gt_buffer payload = {0}, failure = {0};
  gt_talk_end end = gt_workshop_await(workshop, phase, &answer, &payload, &failure);
  gt_status status = end != GT_TALK_ANSWERED ? gt_workshop_fail(end, &failure, error) : GT_OK;
  // A result that failed is no failure of the request.
  if (end == GT_TALK_ANSWERED && !json_object_get(answer, "outcome"))
    status = gt_workshop_status(answer, error);
  *died = end == GT_TALK_DIED || end == GT_TALK_TIMED_OUT || (status == GT_OK && !workshop->child);
  const char *note = gt_wire_string(answer, "note");
  if (*note) gt_buffer_print(&workshop->note, "%s%s", workshop->note.length ? "; " : "", note);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

static void send_problem(gt_workshop *workshop) {
  json_t *request = json_pack("{s:s, s:s}", "do", "problem", "problem", workshop->problem);
  gt_buffer_clear(&workshop->note);
  gt_child_send(workshop->child, request, workshop->grid.data, workshop->grid.length);
  json_decref(request);
  workshop->preparing = true;
}

// Buffers and reference first: meanwhile `direct` is compiled.
static gt_status prepare_once(gt_workshop *workshop, bool *died, gt_error *error) {
  gt_status status = open_again(workshop, error);
  *died = false;
  if (status != GT_OK) return status;
  if (!workshop->preparing) send_problem(workshop);
  status = prepare_step(workshop, died, error);
  workshop->preparing = false;
  if (status == GT_OK && !*died && workshop->direct.source) {
    const gt_compiled *compiled;
    status = gt_compilers_get(gt_workshop_compilers(workshop), &workshop->direct, &compiled, error);
    if (status == GT_OK && compiled->status == GT_OK) {
      json_t *request =
          json_pack("{s:s, s:o}", "do", "direct", "variant", gt_variant_to_json(&workshop->direct));
      gt_child_send(workshop->child, request, compiled->code.data, compiled->code.length);
      json_decref(request);
      status = prepare_step(workshop, died, error);
    }
  }
  workshop->prepared = status == GT_OK && workshop->child;
  return status;
}

// Makes sure that the worker has prepared the problem. `direct` is done without when it takes the worker
// down.
gt_status gt_workshop_ensure_prepared(gt_workshop *workshop, gt_error *error) {
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
  if (status == GT_OK) status = gt_workshop_ensure_open(workshop, error);
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
  gt_workshop_drop(workshop);
  gt_compilers_close(workshop->compilers);
  gt_child_loop_free(workshop->loop);
  gt_variant_free(&workshop->direct);
  gt_workshop_give_up_trial(workshop);
  gt_buffer_free(&workshop->note);
  gt_buffer_free(&workshop->grid);
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

void gt_workshop_use_grid(gt_workshop *workshop, const void *grid, size_t bytes) {
  abandon_problem(workshop);
  gt_buffer_clear(&workshop->grid);
  if (bytes) gt_buffer_append(&workshop->grid, grid, bytes);
  workshop->prepared = false;
}

void gt_workshop_compile_ahead(gt_workshop *workshop, const gt_variant *variant) {
  gt_compilers_ask(gt_workshop_compilers(workshop), variant);
}

void gt_workshop_provide(gt_workshop *workshop, const gt_variant *variant, const void *code, size_t size) {
  gt_compilers_provide(gt_workshop_compilers(workshop), variant, code, size);
}

gt_status gt_workshop_code(gt_workshop *workshop, const gt_variant *variant, const gt_compiled **compiled,
                           gt_error *error) {
  return gt_compilers_get(gt_workshop_compilers(workshop), variant, compiled, error);
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

int gt_workshop_compile_jobs(int devices) {
  int jobs = (int)uv_available_parallelism() / devices - 1;
  return jobs < 1 ? 1 : jobs > MOST_DEFAULT_JOBS ? MOST_DEFAULT_JOBS : jobs;
}

static void copy_variant(const gt_variant *from, gt_variant *to) {
  *to = *from;
  to->configuration = gt_strdup(from->configuration);
  to->family = gt_strdup(from->family);
  to->source = gt_strdup(from->source);
}

static void take_problem(gt_workshop *workshop, const gt_problem *problem, const gt_variant *direct) {
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(problem, text);
  if (strcmp(text, workshop->problem) != 0) abandon_problem(workshop);
  memcpy(workshop->problem, text, sizeof text);
  gt_variant_free(&workshop->direct);
  if (direct) copy_variant(direct, &workshop->direct);
  workshop->prepared = false;
  if (direct) gt_compilers_ask(gt_workshop_compilers(workshop), direct);
}

gt_status gt_workshop_problem(gt_workshop *workshop, const gt_problem *problem, const gt_variant *direct,
                              gt_error *error) {
  take_problem(workshop, problem, direct);
  return gt_workshop_ensure_prepared(workshop, error);
}

void gt_workshop_begin_problem(gt_workshop *workshop, const gt_problem *problem) {
  take_problem(workshop, problem, NULL);
  if (workshop->child && !workshop->preparing) send_problem(workshop);
}

gt_status gt_workshop_compile(gt_workshop *workshop, const char *backend, const char *arch,
                              const char *source, gt_buffer *code, gt_buffer *log, gt_error *error) {
  gt_status status = gt_workshop_ensure_open(workshop, error);
  if (status != GT_OK) return status;
  json_t *answer = NULL;
  json_t *request = json_pack("{s:s, s:s, s:s, s:o}", "do", "compile", "backend", backend, "arch", arch,
                              "source", gt_wire_text(source));
  gt_buffer failure = {0};
  gt_buffer_clear(code);
  gt_buffer_clear(log);
  gt_talk_end end = gt_workshop_talk(workshop, request, NULL, 0, &answer, code, &failure);
  status =
      end == GT_TALK_ANSWERED ? gt_workshop_status(answer, error) : gt_workshop_fail(end, &failure, error);
  if (end == GT_TALK_ANSWERED) gt_buffer_print(log, "%s", gt_wire_string(answer, "log"));
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&failure);
  return status;
}
