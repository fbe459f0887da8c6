#include "tuner/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "tuner/trial.h"
#include "tuner/values.h"
#include "tuner/wire.h"

typedef struct {
  int in, out;
  gt_buffer received;
  gt_session session;
} worker;

static bool write_all(int out, const char *data, size_t length) {
  while (length) {
    ssize_t written = write(out, data, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    length -= (size_t)written;
  }
  return true;
}

// Sends a frame and releases the message. A parent that is gone is noticed at the next read.
static void send_frame(worker *w, json_t *message, const gt_buffer *payload) {
  gt_buffer frame = {0};
  gt_wire_encode(&frame, message, payload ? payload->data : NULL, payload ? payload->length : 0);
  if (!write_all(w->out, frame.data, frame.length)) _exit(1);
  gt_buffer_free(&frame);
  json_decref(message);
}

static void send_progress(void *context, const char *phase) {
  send_frame(context, json_pack("{s:s, s:s}", "event", "progress", "phase", phase), NULL);
}

static json_t *answer(gt_status status, const char *message) {
  return json_pack("{s:s, s:s, s:o}", "event", "done", "status", gt_status_name(status), "message",
                   gt_wire_text(status == GT_OK ? "" : message));
}

static json_t *result_to_json(const gt_result *result) {
  json_t *samples = json_array();
  for (size_t i = 0; i < result->samples.count; i++)
    json_array_append_new(samples, json_real(result->samples.us[i]));
  const gt_readings *readings = &result->readings;
  json_t *sensors = json_pack("{s:i, s:i, s:i}", "temperature_c", readings->temperature_c, "clock_mhz",
                              readings->clock_mhz, "memory_clock_mhz", readings->memory_clock_mhz);
  return json_pack("{s:s, s:o, s:s, s:o, s:i, s:i, s:i, s:b, s:f, s:b, s:o}", "status",
                   gt_status_name(result->status), "message", gt_wire_text(result->message.data), "outcome",
                   gt_outcome_name(result->outcome), "samples_us", samples, "registers",
                   result->info.registers, "lds_bytes", result->info.lds_bytes, "scratch_bytes",
                   result->info.scratch_bytes, "checked", (int)result->checked, "device_s", result->device_s,
                   "noisy", (int)result->samples.noisy, "readings", sensors);
}

static gt_timing_options read_timing(const json_t *json) {
  gt_timing_options timing;
  gt_timing_defaults(&timing);
  const json_t *from = json_object_get(json, "timing"), *value;
  if ((value = json_object_get(from, "tolerance"))) timing.tolerance = json_number_value(value);
  if ((value = json_object_get(from, "batch_us"))) timing.batch_us = json_number_value(value);
  if ((value = json_object_get(from, "min_batches"))) timing.min_batches = (int)json_integer_value(value);
  if ((value = json_object_get(from, "max_batches"))) timing.max_batches = (int)json_integer_value(value);
  if ((value = json_object_get(from, "max_seconds"))) timing.max_seconds = json_number_value(value);
  if ((value = json_object_get(from, "drop_us"))) timing.drop_us = json_number_value(value);
  timing.warm = json_is_true(json_object_get(from, "warm"));
  return timing;
}

static json_t *do_open(worker *w, const json_t *request) {
  gt_error error = {0};
  const char *device = json_string_value(json_object_get(request, "device"));
  if (!device) return answer(GT_OK, "");
  gt_status status = gt_device_open(device, &w->session.open, &error);
  json_t *done = answer(status, error.text);
  if (status == GT_OK) {
    json_object_set_new(done, "device", gt_wire_text(w->session.open.name));
    json_object_set_new(done, "fingerprint", gt_wire_fingerprint(&w->session.open.fingerprint));
    json_object_set_new(done, "executes", json_boolean(w->session.open.backend->executes));
  } else {
    w->session.open = (gt_open_device){0};
  }
  return done;
}

static gt_status require_device(const worker *w, gt_error *error) {
  return w->session.open.backend ? GT_OK : gt_fail(error, GT_NO_DEVICE, "this worker has no device open");
}

// Bytes of the grid that a problem has; 0: none.
static size_t grid_bytes(const gt_problem *problem) {
  if (problem->op->form != GT_FORM_GRID) return 0;
  return (size_t)(gt_problem_outer(problem) * gt_tensor_slice(problem, GT_GRID)) * gt_dtype_bytes(problem->dtype);
}

static json_t *do_problem(worker *w, const json_t *request, const gt_buffer *grid) {
  gt_error error = {0};
  gt_problem problem;
  gt_buffer note = {0};
  gt_status status = require_device(w, &error);
  if (status == GT_OK) status = gt_problem_parse(gt_wire_string(request, "problem"), &problem, &error);
  if (status == GT_OK && grid->length && grid->length != grid_bytes(&problem))
    status = gt_fail(&error, GT_CORRUPT, "problem: %zu bytes are no grid of it", grid->length);
  if (status == GT_OK)
    status = gt_session_problem(&w->session, &problem, grid->length ? grid->data : NULL, &note, &error);
  json_t *done = answer(status, error.text);
  if (status == GT_OK) {
    json_object_set_new(done, "outer", json_integer(w->session.bench.outer));
    json_object_set_new(done, "slots", json_integer(w->session.bench.slots));
    json_object_set_new(done, "note", gt_wire_text(note.data));
  }
  gt_buffer_free(&note);
  return done;
}

static json_t *finish_result(gt_result *result) {
  json_t *done = result_to_json(result);
  json_object_set_new(done, "event", json_string("done"));
  gt_result_free(result);
  return done;
}

static json_t *do_direct(worker *w, const json_t *request, const gt_buffer *code) {
  gt_error error = {0};
  gt_variant variant = {0};
  gt_result result = {0};
  gt_buffer note = {0};
  gt_status status = require_device(w, &error);
  if (status == GT_OK) status = gt_variant_from_json(json_object_get(request, "variant"), &variant, &error);
  if (status == GT_OK)
    status = gt_session_direct(&w->session, &(gt_built){&variant, code->data, code->length}, &result, &note,
                               &error);
  gt_variant_free(&variant);
  json_t *done = status == GT_OK ? finish_result(&result) : answer(status, error.text);
  json_object_set_new(done, "note", gt_wire_text(note.data));
  gt_result_free(&result);
  gt_buffer_free(&note);
  return done;
}

static json_t *do_trial(worker *w, const json_t *request, const gt_buffer *code) {
  gt_error error = {0};
  gt_variant variant = {0};
  gt_result result = {0};
  gt_timing_options timing = read_timing(request);
  bool only_checks = json_is_null(json_object_get(request, "timing"));
  gt_status status = require_device(w, &error);
  if (status == GT_OK) status = gt_variant_from_json(json_object_get(request, "variant"), &variant, &error);
  if (status == GT_OK)
    gt_session_trial(&w->session, &(gt_built){&variant, code->data, code->length},
                     json_is_true(json_object_get(request, "check")), only_checks ? NULL : &timing, &result);
  gt_variant_free(&variant);
  return status == GT_OK ? finish_result(&result) : answer(status, error.text);
}

static json_t *do_retime(worker *w, const json_t *request, const gt_buffer *codes) {
  gt_error error = {0};
  gt_timing_options timing = read_timing(request);
  const json_t *list = json_object_get(request, "variants"), *sizes = json_object_get(request, "code_bytes");
  size_t count = json_array_size(list), at = 0;
  gt_variant *variants = gt_alloc(count * sizeof *variants);
  gt_built *built = gt_alloc(count * sizeof *built);
  gt_result *results = gt_alloc(count * sizeof *results);
  gt_status status = require_device(w, &error);
  for (size_t i = 0; i < count && status == GT_OK; i++) {
    json_int_t size = json_integer_value(json_array_get(sizes, i));
    status = gt_variant_from_json(json_array_get(list, i), &variants[i], &error);
    if (status == GT_OK && (size < 1 || (size_t)size > codes->length - at))
      status = gt_fail(&error, GT_CORRUPT, "retime: the code objects do not fit the payload");
    if (status != GT_OK) break;
    built[i] = (gt_built){&variants[i], codes->data + at, (size_t)size};
    at += (size_t)size;
  }
  if (status == GT_OK) gt_session_retime(&w->session, built, count, &timing, results);
  json_t *done = answer(status, error.text);
  json_t *array = json_array();
  for (size_t i = 0; i < count && status == GT_OK; i++)
    json_array_append_new(array, result_to_json(&results[i]));
  json_object_set_new(done, "results", array);
  for (size_t i = 0; i < count; i++) {
    gt_variant_free(&variants[i]);
    gt_result_free(&results[i]);
  }
  free(variants);
  free(built);
  free(results);
  return done;
}

static json_t *do_verify(worker *w, const json_t *request, const gt_buffer *values) {
  gt_error error = {0};
  gt_problem problem;
  gt_variant variant = {0};
  gt_result result = {0};
  gt_status status = require_device(w, &error);
  if (status == GT_OK) status = gt_problem_parse(gt_wire_string(request, "problem"), &problem, &error);
  if (status == GT_OK) status = gt_variant_from_json(json_object_get(request, "variant"), &variant, &error);
  if (status == GT_OK) {
    gt_tensor tensors[GT_TENSORS];
    const double *parts[2 * GT_TENSORS], *next = (const double *)(const void *)values->data;
    int count = gt_problem_tensors(&problem, tensors), n_parts = 0;
    size_t elements = 0;
    for (int terms = 0; terms < 2; terms++)
      for (int i = 0; i < count; i++) {
        if (terms && !tensors[i].is_result) continue;
        parts[n_parts++] = next + elements;
        elements += (size_t)gt_tensor_elements(&problem, &tensors[i]);
      }
    size_t bytes = elements * sizeof(double);
    if (values->length <= bytes) {
      status = gt_fail(&error, GT_CORRUPT, "verify: %zu bytes are no values of the problem and code object",
                       values->length);
    } else {
      gt_built built = {&variant, values->data + bytes, values->length - bytes};
      gt_session_verify(&w->session, &problem, &built, parts, parts + count, &result);
    }
  }
  gt_variant_free(&variant);
  return status == GT_OK ? finish_result(&result) : answer(status, error.text);
}

static json_t *moved_to_json(const gt_moved *moved) {
  return json_pack("{s:I, s:I, s:I, s:I}", "lanes", (json_int_t)moved->lanes, "waves",
                   (json_int_t)moved->waves, "blocks", (json_int_t)moved->blocks, "dies",
                   (json_int_t)moved->dies);
}

static json_t *do_traffic(worker *w, const json_t *request, const gt_buffer *code) {
  gt_error error = {0};
  gt_problem problem;
  gt_variant variant = {0};
  gt_traffic traffic;
  gt_status status = require_device(w, &error);
  if (status == GT_OK) status = gt_problem_parse(gt_wire_string(request, "problem"), &problem, &error);
  if (status == GT_OK) status = gt_variant_from_json(json_object_get(request, "variant"), &variant, &error);
  if (status == GT_OK) status = gt_session_traffic(&w->session, &problem, &(gt_built){&variant, code->data, code->length}, &traffic, &error);
  gt_variant_free(&variant);
  json_t *done = answer(status, error.text);
  if (status == GT_OK) {
    json_object_set_new(done, "read", moved_to_json(&traffic.read));
    json_object_set_new(done, "written", moved_to_json(&traffic.written));
  }
  return done;
}

static json_t *do_compile(worker *w, const json_t *request, gt_buffer *payload) {
  gt_error error = {0};
  gt_buffer log = {0};
  const char *name = gt_wire_string(request, "backend");
  const gt_backend *backend = gt_backend_find(name);
  const char *missing = gt_backend_missing(name);
  gt_status status;
  send_progress(w, "compile");
  double start = gt_seconds();
  if (!backend)
    status = gt_fail(&error, GT_NO_LIBRARY, "%s", missing ? missing : "unknown back end");
  else
    status = backend->compile(w->session.open.backend == backend ? w->session.open.device : NULL,
                              gt_wire_string(request, "arch"), gt_wire_string(request, "source"), payload,
                              &log, &error);
  if (status != GT_OK) gt_buffer_clear(payload);
  json_t *done = answer(status, error.text);
  json_object_set_new(done, "log", gt_wire_text(log.data));
  json_object_set_new(done, "compile_ms", json_real(1e3 * (gt_seconds() - start)));
  gt_buffer_free(&log);
  return done;
}

// Handles one request. False: the worker is to end.
static bool serve(worker *w, const json_t *request, const gt_buffer *values) {
  const char *what = gt_wire_string(request, "do");
  gt_buffer payload = {0};
  json_t *done;
  if (strcmp(what, "quit") == 0) return false;
  if (strcmp(what, "open") == 0)
    done = do_open(w, request);
  else if (strcmp(what, "problem") == 0)
    done = do_problem(w, request, values);
  else if (strcmp(what, "trial") == 0)
    done = do_trial(w, request, values);
  else if (strcmp(what, "direct") == 0)
    done = do_direct(w, request, values);
  else if (strcmp(what, "retime") == 0)
    done = do_retime(w, request, values);
  else if (strcmp(what, "verify") == 0)
    done = do_verify(w, request, values);
  else if (strcmp(what, "traffic") == 0)
    done = do_traffic(w, request, values);
  else if (strcmp(what, "compile") == 0)
    done = do_compile(w, request, &payload);
  else
    done = answer(GT_USAGE, "unknown request");
  if (w->session.broken) json_object_set_new(done, "exiting", json_true());
  send_frame(w, done, &payload);
  gt_buffer_free(&payload);
  if (w->session.broken) return false; // a device in doubt may not even release what it has
  gt_session_settle(&w->session);
  return true;
}

// Reads one request. 1: got one; 0: the parent is gone; -1: garbage.
static int receive(worker *w, json_t **request, gt_buffer *values) {
  char block[65536];
  for (;;) {
    int got = gt_wire_decode(&w->received, request, values);
    if (got) return got;
    ssize_t length = read(w->in, block, sizeof block);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return 0;
    gt_buffer_append(&w->received, block, (size_t)length);
  }
}

// Takes the frames' descriptors away from 0 and 1, so that neither a library's chatter nor a compiler that it
// starts gets between the frames; and makes sure that the process ends with its parent, and that crashes end
// it at once and as what they are.
static void isolate(worker *w, int in, int out) {
  w->in = fcntl(in, F_DUPFD_CLOEXEC, 3);
  w->out = fcntl(out, F_DUPFD_CLOEXEC, 3);
  int null = open("/dev/null", O_RDWR);
  if (in == 0 && null >= 0) dup2(null, 0);
  if (out == 1) dup2(2, 1);
  if (null > 2) close(null);

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGINT, SIG_IGN); // Ctrl-C is the parent's to handle
  signal(SIGPIPE, SIG_IGN);
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) signal(crashes[i], SIG_DFL);
}

int gt_worker_main(int in, int out) {
  worker w = {0};
  isolate(&w, in, out);
  w.session.progress = send_progress;
  w.session.context = &w;
  if (w.in < 0 || w.out < 0) return 1;

  int got;
  bool more = true;
  gt_buffer values = {0};
  json_t *request = NULL;
  while (more && (got = receive(&w, &request, &values)) == 1) {
    more = serve(&w, request, &values);
    json_decref(request);
  }
  gt_buffer_free(&values);
  gt_buffer_free(&w.received);
  // A device in doubt may not even close.
  if (w.session.broken) _exit(0);
  gt_session_close(&w.session);
  close(w.in);
  close(w.out);
  return more && got < 0 ? 1 : 0;
}
