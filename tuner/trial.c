#include "tuner/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/recorded.h"

#define LOG_BYTES 2000 // of a compiler's words that go into a message

void gt_result_free(gt_result *result) {
  gt_buffer_free(&result->message);
  gt_buffer_free(&result->code);
  gt_samples_free(&result->samples);
  *result = (gt_result){0};
}

static void set_failed(gt_result *result, gt_outcome outcome, gt_status status, const char *text) {
  result->status = status;
  result->outcome = outcome;
  if (!result->message.length) gt_buffer_append(&result->message, text, strlen(text));
}

// Turns an error of the device layer into an outcome.
static void set_error(gt_session *session, gt_result *result, const gt_error *error) {
  switch (error->status) {
  case GT_COMPILE:
    set_failed(result, GT_OUTCOME_COMPILE_ERROR, GT_COMPILE, error->text);
    break;
  case GT_OUT_OF_MEMORY:
    set_failed(result, GT_OUTCOME_OUT_OF_MEMORY, GT_OUT_OF_MEMORY, error->text);
    break;
  default:
    if (error->status == GT_LAUNCH || error->status == GT_DEVICE_LOST) session->broken = true;
    set_failed(result, GT_OUTCOME_LAUNCH_ERROR, error->status, error->text);
  }
}

static gt_status compile(gt_session *session, const gt_variant *variant, gt_result *result, gt_error *error) {
  gt_buffer log = {0};
  session->progress(session->context, "compile");
  double start = gt_seconds();
  gt_status status = session->open.backend->compile(session->open.device, session->open.fingerprint.arch,
                                                    variant->source, &result->code, &log, error);
  result->compile_ms = 1e3 * (gt_seconds() - start);
  if (status == GT_COMPILE) {
    gt_buffer_print(&result->message, "%s", error->text);
    if (log.length) gt_buffer_print(&result->message, "\n%.*s", LOG_BYTES, log.data);
  }
  gt_buffer_free(&log);
  return status;
}

// Runs the variant once on a slot; *ok is false when canaries or (if it is to be checked) values are wrong:
// then result says so.
static gt_status run_once(gt_session *session, gt_expected *expected, gt_loaded *loaded, int slot,
                          uint32_t poison, bool check, gt_result *result, uint64_t *hash, bool *ok,
                          gt_error *error) {
  session->progress(session->context, "launch");
  gt_status status = gt_loaded_run(loaded, slot, poison, ok, &result->message, error);
  if (status != GT_OK) return status;
  if (!*ok) {
    set_failed(result, GT_OUTCOME_OUT_OF_BOUNDS, GT_WRONG_RESULT, "");
    return GT_OK;
  }
  if (!check) return GT_OK;
  session->progress(session->context, "check");
  status = gt_expected_compare(expected, slot, poison, ok, &result->message, hash, error);
  if (status == GT_OK && !*ok) set_failed(result, GT_OUTCOME_WRONG_RESULT, GT_WRONG_RESULT, "");
  return status;
}

// Two runs from differently poisoned memory. The result of the first stays in slot 0 when there are several
// slots.
static gt_status check_results(gt_session *session, gt_expected *expected, gt_loaded *loaded,
                               const gt_variant *variant, bool check, gt_result *result, gt_error *error) {
  if (!session->open.backend->executes) {
    // Nothing to compare, but a scripted device fails and hangs here as others do.
    session->progress(session->context, "launch");
    bool intact;
    gt_status status = gt_loaded_run(loaded, 0, GT_POISON_FIRST, &intact, &result->message, error);
    if (status == GT_OK && session->open.backend == &gt_backend_recorded &&
        gt_recorded_wrong(loaded->kernels[0]))
      set_failed(result, GT_OUTCOME_WRONG_RESULT, GT_WRONG_RESULT, "the script says that this is wrong");
    return status;
  }
  uint64_t first = 0, second = 0;
  bool ok;
  gt_status status =
      run_once(session, expected, loaded, 0, GT_POISON_FIRST, check, result, &first, &ok, error);
  if (status == GT_OK) result->checked = check;
  if (status != GT_OK || !ok || !check) return status;
  int slot = loaded->bench->slots > 1 ? 1 : 0;
  status = run_once(session, expected, loaded, slot, GT_POISON_SECOND, check, result, &second, &ok, error);
  if (status != GT_OK) return status;
  if (result->outcome == GT_OUTCOME_WRONG_RESULT)
    result->outcome = GT_OUTCOME_UNSTABLE_RESULT; // right once and wrong once
  else if (ok && variant->reproducible && first != second)
    set_failed(result, GT_OUTCOME_UNSTABLE_RESULT, GT_WRONG_RESULT,
               "two runs on the same values gave different bits, both within the tolerance");
  return GT_OK;
}

static gt_status time_variant(gt_session *session, gt_loaded *loaded, const gt_timing_options *timing,
                              gt_result *result, gt_error *error) {
  session->progress(session->context, "time");
  loaded->warm = timing->warm;
  return gt_timing_run(timing, gt_loaded_batch, loaded, &result->samples, error);
}

void gt_session_trial(gt_session *session, const gt_variant *variant, bool check, bool time,
                      const gt_timing_options *timing, gt_result *result) {
  gt_error error = {0};
  gt_loaded loaded = {0};
  *result = (gt_result){.info = {-1, -1, -1, -1}};
  gt_status status = session->prepared ? GT_OK : gt_fail(&error, GT_USAGE, "no problem is prepared");
  if (status == GT_OK) status = compile(session, variant, result, &error);
  if (status == GT_OK)
    status =
        gt_loaded_open(&session->bench, variant, result->code.data, result->code.length, &loaded, &error);
  if (status == GT_OK) {
    result->info = loaded.info;
    status = check_results(session, &session->expected, &loaded, variant, check, result, &error);
  }
  if (status == GT_OK && result->outcome == GT_OUTCOME_OK && time)
    status = time_variant(session, &loaded, timing, result, &error);
  if (status != GT_OK) set_error(session, result, &error);
  gt_loaded_close(&loaded);
}

gt_status gt_session_problem(gt_session *session, const gt_problem *problem, const gt_variant *direct,
                             gt_result *direct_result, gt_buffer *note, gt_error *error) {
  *direct_result = (gt_result){0};
  session->prepared = false;
  gt_expected_close(&session->expected);
  gt_bench_close(&session->bench);
  session->progress(session->context, "prepare");
  gt_status status = gt_bench_open(&session->open, problem, NULL, &session->bench, error);
  if (status != GT_OK) return status;
  if (session->open.backend->executes) {
    status = gt_expected_open(&session->bench, &session->expected, error);
    if (status != GT_OK) {
      gt_bench_close(&session->bench);
      return status;
    }
  }
  session->prepared = true;
  if (session->bench.outer < gt_problem_outer(problem))
    gt_buffer_print(note,
                    "only %lld of %lld outer indices fit into the device's memory, and times are of these",
                    (long long)session->bench.outer, (long long)gt_problem_outer(problem));
  if (!direct || !session->open.backend->executes) return GT_OK;

  gt_session_trial(session, direct, true, false, NULL, direct_result);
  if (direct_result->outcome == GT_OUTCOME_OK) {
    status = gt_expected_keep(&session->expected, 0, error);
    if (gt_expected_is_partial(&session->expected))
      gt_buffer_print(note, "%sonly the first and last 512 MiB are compared with direct",
                      note->length ? "; " : "");
  }
  return status;
}

void gt_session_close(gt_session *session) {
  gt_expected_close(&session->expected);
  gt_bench_close(&session->bench);
  session->prepared = false;
  gt_device_close(&session->open);
}

void gt_session_retime(gt_session *session, const gt_variant *variants, size_t count,
                       const gt_timing_options *timing, gt_result *results) {
  gt_loaded *loaded = gt_alloc(count * sizeof *loaded);
  int *batch = gt_alloc(count * sizeof *batch);
  gt_error error = {0};
  for (size_t i = 0; i < count; i++) {
    gt_result *result = &results[i];
    *result = (gt_result){.info = {-1, -1, -1, -1}};
    gt_status status = session->prepared ? GT_OK : gt_fail(&error, GT_USAGE, "no problem is prepared");
    if (status == GT_OK) status = compile(session, &variants[i], result, &error);
    if (status == GT_OK)
      status = gt_loaded_open(&session->bench, &variants[i], result->code.data, result->code.length,
                              &loaded[i], &error);
    if (status == GT_OK) {
      session->progress(session->context, "time");
      loaded[i].warm = timing->warm;
      status = gt_timing_calibrate(timing, gt_loaded_batch, &loaded[i], &batch[i], &error);
    }
    if (status != GT_OK) set_error(session, result, &error);
  }

  double start = gt_seconds();
  for (int round = 0; round < timing->max_batches && !session->broken; round++) {
    bool steady = true;
    session->progress(session->context, "time");
    for (size_t i = 0; i < count && !session->broken; i++) {
      double us;
      if (results[i].status != GT_OK) continue;
      if (gt_loaded_batch(&loaded[i], batch[i], &us, &error) == GT_OK) {
        gt_samples_add(&results[i].samples, us / batch[i]);
        steady =
            steady && gt_samples_steady(&results[i].samples, (size_t)timing->min_batches, timing->tolerance);
      } else {
        set_error(session, &results[i], &error);
      }
    }
    if (steady || gt_seconds() - start > timing->max_seconds * (double)count) break;
  }
  for (size_t i = 0; i < count; i++) gt_loaded_close(&loaded[i]);
  free(loaded);
  free(batch);
}

// Doubles in NCHW order to the problem's storage type and layout.
static void *store_values(const gt_problem *problem, const double *values) {
  int64_t outer = gt_problem_outer(problem), inner = gt_problem_inner(problem);
  int64_t spatial = problem->out[0] * problem->out[1] * problem->out[2];
  void *array = gt_alloc((size_t)(outer * spatial * inner) * gt_dtype_bytes(problem->dtype));
  size_t to = 0;
  for (int64_t s = 0; s < outer; s++)
    for (int64_t p = 0; p < spatial; p++)
      for (int64_t c = 0; c < inner; c++)
        gt_storage_store(problem->dtype, array, to++, values[(s * inner + c) * spatial + p]);
  return array;
}

void gt_session_verify(gt_session *session, const gt_problem *problem, const gt_variant *variant,
                       const double *grad_output, const double *reference, const double *term,
                       gt_result *result) {
  gt_error error = {0};
  gt_bench bench = {0};
  gt_expected expected = {0};
  gt_loaded loaded = {0};
  gt_status status = GT_OK;
  *result = (gt_result){.info = {-1, -1, -1, -1}};
  if (!session->open.backend->executes)
    status =
        gt_fail(&error, GT_UNSUPPORTED, "%s executes nothing that could be verified", session->open.name);
  if (status == GT_OK) {
    session->progress(session->context, "prepare");
    void *values = store_values(problem, grad_output);
    status = gt_bench_open(&session->open, problem, values, &bench, &error);
    free(values);
  }
  if (status == GT_OK) status = gt_expected_from_values(&bench, reference, term, &expected, &error);
  if (status == GT_OK) status = compile(session, variant, result, &error);
  if (status == GT_OK)
    status = gt_loaded_open(&bench, variant, result->code.data, result->code.length, &loaded, &error);
  if (status == GT_OK) status = check_results(session, &expected, &loaded, variant, true, result, &error);
  if (status != GT_OK) set_error(session, result, &error);
  gt_loaded_close(&loaded);
  gt_expected_close(&expected);
  gt_bench_close(&bench);
}

gt_status gt_session_traffic(gt_session *session, const gt_problem *problem, const gt_variant *variant,
                             const gt_buffer *code, gt_traffic *traffic, gt_error *error) {
  const gt_open_device *open = &session->open;
  gt_bench bench = {0};
  gt_loaded loaded = {0};
  if (!open->backend->traffic)
    return gt_fail(error, GT_UNSUPPORTED, "%s does not count the traffic of kernels", open->name);
  gt_status status = open->backend->traffic(open->device, traffic, error);
  if (status != GT_OK) return status;
  session->progress(session->context, "prepare");
  void *zeros = gt_alloc((size_t)gt_problem_out_elements(problem) * gt_dtype_bytes(problem->dtype));
  status = gt_bench_open(&session->open, problem, zeros, &bench, error);
  free(zeros);
  if (status == GT_OK) status = gt_loaded_open(&bench, variant, code->data, code->length, &loaded, error);
  // Counting takes its time on a device that is emulated.
  session->progress(session->context, "time");
  if (status == GT_OK) status = gt_loaded_traffic(&loaded, traffic, error);
  if (status == GT_LAUNCH || status == GT_DEVICE_LOST) session->broken = true;
  gt_loaded_close(&loaded);
  gt_bench_close(&bench);
  return status;
}
