#include "tuner/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/recorded.h"

void gt_result_free(gt_result *result) {
  gt_buffer_free(&result->message);
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
  case GT_OUT_OF_MEMORY:
    set_failed(result, GT_OUTCOME_OUT_OF_MEMORY, GT_OUT_OF_MEMORY, error->text);
    break;
  default:
    if (error->status == GT_LAUNCH || error->status == GT_DEVICE_LOST) session->broken = true;
    set_failed(result, GT_OUTCOME_LAUNCH_ERROR, error->status, error->text);
  }
}

static gt_status load(gt_bench *bench, const gt_built *built, gt_loaded *loaded, gt_error *error) {
  return gt_loaded_open(bench, built->variant, built->code, built->size, loaded, error);
}

// Runs the variant once on a slot; *ok is false when canaries or (if it is to be checked) values are wrong:
// then result says so.
static gt_status run_once(gt_session *session, gt_expected *expected, gt_loaded *loaded, int slot,
                          uint32_t poison, bool check, gt_result *result, uint64_t *hash, bool *ok,
                          gt_error *error) {
  session->progress(session->context, "launch");
  double start = gt_seconds();
  gt_status status = gt_loaded_run(loaded, slot, poison, ok, &result->message, error);
  result->device_s += gt_seconds() - start;
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
    double start = gt_seconds();
    gt_status status = gt_loaded_run(loaded, 0, GT_POISON_FIRST, &intact, &result->message, error);
    result->device_s += gt_seconds() - start;
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
  double start = gt_seconds();
  gt_status status = gt_timing_run(timing, gt_loaded_batch, loaded, &result->samples, error);
  result->device_s += gt_seconds() - start;
  return status;
}

void gt_session_trial(gt_session *session, const gt_built *built, bool check, const gt_timing_options *timing,
                      gt_result *result) {
  gt_error error = {0};
  gt_loaded loaded = {0};
  *result = (gt_result){.info = {-1, -1, -1, -1}};
  gt_status status = session->prepared ? GT_OK : gt_fail(&error, GT_USAGE, "no problem is prepared");
  if (status == GT_OK) {
    session->progress(session->context, "load");
    status = load(&session->bench, built, &loaded, &error);
  }
  if (status == GT_OK) {
    result->info = loaded.info;
    status = check_results(session, &session->expected, &loaded, built->variant, check, result, &error);
  }
  if (status == GT_OK && result->outcome == GT_OUTCOME_OK && timing)
    status = time_variant(session, &loaded, timing, result, &error);
  if (status != GT_OK) set_error(session, result, &error);
  gt_loaded_close(&loaded);
}

gt_status gt_session_problem(gt_session *session, const gt_problem *problem, gt_buffer *note,
                             gt_error *error) {
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
  return GT_OK;
}

gt_status gt_session_direct(gt_session *session, const gt_built *direct, gt_result *result, gt_buffer *note,
                            gt_error *error) {
  *result = (gt_result){.info = {-1, -1, -1, -1}};
  if (!session->prepared) return gt_fail(error, GT_USAGE, "no problem is prepared");
  if (!session->open.backend->executes) return GT_OK;
  gt_session_trial(session, direct, true, NULL, result);
  if (result->outcome != GT_OUTCOME_OK) return GT_OK;
  gt_status status = gt_expected_keep(&session->expected, 0, error);
  if (gt_expected_is_partial(&session->expected))
    gt_buffer_print(note, "only the first and last 512 MiB are compared with direct");
  return status;
}

void gt_session_close(gt_session *session) {
  gt_expected_close(&session->expected);
  gt_bench_close(&session->bench);
  session->prepared = false;
  gt_device_close(&session->open);
}

void gt_session_retime(gt_session *session, const gt_built *variants, size_t count,
                       const gt_timing_options *timing, gt_result *results) {
  gt_loaded *loaded = gt_alloc(count * sizeof *loaded);
  int *batch = gt_alloc(count * sizeof *batch);
  gt_error error = {0};
  for (size_t i = 0; i < count; i++) {
    gt_result *result = &results[i];
    *result = (gt_result){.info = {-1, -1, -1, -1}};
    gt_status status = session->prepared ? GT_OK : gt_fail(&error, GT_USAGE, "no problem is prepared");
    if (status == GT_OK) {
      session->progress(session->context, "load");
      status = load(&session->bench, &variants[i], &loaded[i], &error);
    }
    if (status == GT_OK) {
      session->progress(session->context, "time");
      double begin = gt_seconds();
      loaded[i].warm = timing->warm;
      status = gt_timing_calibrate(timing, gt_loaded_batch, &loaded[i], &batch[i], &error);
      result->device_s += gt_seconds() - begin;
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
      double begin = gt_seconds();
      if (gt_loaded_batch(&loaded[i], batch[i], &us, &error) == GT_OK) {
        gt_samples_add(&results[i].samples, us / batch[i]);
        steady =
            steady && gt_samples_steady(&results[i].samples, (size_t)timing->min_batches, timing->tolerance);
      } else {
        set_error(session, &results[i], &error);
      }
      results[i].device_s += gt_seconds() - begin;
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

void gt_session_verify(gt_session *session, const gt_problem *problem, const gt_built *built,
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
  if (status == GT_OK) {
    session->progress(session->context, "load");
    status = load(&bench, built, &loaded, &error);
  }
  if (status == GT_OK)
    status = check_results(session, &expected, &loaded, built->variant, true, result, &error);
  if (status != GT_OK) set_error(session, result, &error);
  gt_loaded_close(&loaded);
  gt_expected_close(&expected);
  gt_bench_close(&bench);
}
