#include "tuner/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/recorded.h"
#include "generator/default.h"
#include "tuner/compare.h"
#include "tuner/values.h"

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

// Runs the variant once on a slot; *ok is false when canaries are damaged: then result says so.
static gt_status run_once(gt_session *session, gt_loaded *loaded, int slot, uint32_t poison,
                          gt_result *result, bool *ok, gt_error *error) {
  session->progress(session->context, "launch");
  double start = gt_seconds();
  gt_status status = gt_loaded_run(loaded, slot, poison, ok, &result->message, error);
  result->device_s += gt_seconds() - start;
  if (status == GT_OK && !*ok) set_failed(result, GT_OUTCOME_OUT_OF_BOUNDS, GT_WRONG_RESULT, "");
  return status;
}

// On a device that executes nothing there is nothing to compare, but it fails and hangs here as others do.
static gt_status run_scripted(gt_session *session, gt_loaded *loaded, gt_result *result, gt_error *error) {
  bool intact;
  gt_status status = run_once(session, loaded, 0, GT_POISON_FIRST, result, &intact, error);
  if (status == GT_OK && session->open.backend == &gt_backend_recorded &&
      gt_recorded_wrong(loaded->kernels[0]))
    set_failed(result, GT_OUTCOME_WRONG_RESULT, GT_WRONG_RESULT, "the script says that this is wrong");
  return status;
}

// A run and the comparison of its result. *hash identifies the result's bits.
static gt_status run_and_compare(gt_session *session, gt_expected *expected, gt_loaded *loaded, int slot,
                                 uint32_t poison, gt_result *result, uint64_t *hash, bool *ok,
                                 gt_error *error) {
  gt_status status = run_once(session, loaded, slot, poison, result, ok, error);
  if (status != GT_OK || !*ok) return status;
  session->progress(session->context, "check");
  status = gt_compare_slot(expected, slot, poison, ok, &result->message, hash, error);
  if (status == GT_OK && !*ok) set_failed(result, GT_OUTCOME_WRONG_RESULT, GT_WRONG_RESULT, "");
  return status;
}

static int second_slot(const gt_loaded *loaded) {
  return loaded->bench->slots > 1 ? 1 : 0;
}

// Two runs from differently poisoned memory, compared as they are read.
static gt_status check_step_by_step(gt_session *session, gt_expected *expected, gt_loaded *loaded,
                                    const gt_variant *variant, gt_result *result, gt_error *error) {
  uint64_t first = 0, second = 0;
  bool ok;
  gt_status status =
      run_and_compare(session, expected, loaded, 0, GT_POISON_FIRST, result, &first, &ok, error);
  if (status == GT_OK) result->checked = true;
  if (status != GT_OK || !ok) return status;
  status = run_and_compare(session, expected, loaded, second_slot(loaded), GT_POISON_SECOND, result, &second,
                           &ok, error);
  if (status != GT_OK) return status;
  if (result->outcome == GT_OUTCOME_WRONG_RESULT)
    result->outcome = GT_OUTCOME_UNSTABLE_RESULT; // right once and wrong once
  else if (ok && variant->reproducible && first != second)
    set_failed(result, GT_OUTCOME_UNSTABLE_RESULT, GT_WRONG_RESULT, GT_COMPARE_UNSTABLE);
  return GT_OK;
}

// The same two runs, judged by the session's judge, who is left at work.
static gt_status check_aside(gt_session *session, gt_loaded *loaded, const gt_variant *variant,
                             gt_result *result, gt_error *error) {
  static const uint32_t poisons[] = {GT_POISON_FIRST, GT_POISON_SECOND};
  gt_status status = GT_OK;
  bool ok = true;
  for (int run = 0; run < 2; run++) {
    int slot = run ? second_slot(loaded) : 0;
    status = run_once(session, loaded, slot, poisons[run], result, &ok, error);
    double start = gt_seconds();
    if (status == GT_OK && ok) status = gt_judge_take(&session->judge, run, slot, poisons[run], error);
    result->device_s += gt_seconds() - start;
    if (status != GT_OK || !ok) break;
    if (run == 0)
      gt_judge_start(&session->judge);
    else
      gt_judge_second(&session->judge, variant->reproducible);
  }
  result->checked = status == GT_OK;
  return status;
}

// Waits for the judge. What a wrong kernel took is of no interest.
static void take_judgement(gt_session *session, gt_result *result) {
  if (!session->judge.is_running) return;
  session->progress(session->context, "check");
  gt_buffer what = {0};
  gt_outcome outcome = gt_judge_end(&session->judge, &what);
  if (outcome != GT_OUTCOME_OK && result->outcome == GT_OUTCOME_OK) {
    set_failed(result, outcome, GT_WRONG_RESULT, what.data ? what.data : "");
    gt_samples_free(&result->samples);
  }
  gt_buffer_free(&what);
}

static gt_readings read_sensors(const gt_session *session) {
  const gt_open_device *open = &session->open;
  return open->backend->readings ? open->backend->readings(open->device) : (gt_readings){0};
}

static gt_status time_variant(gt_session *session, gt_loaded *loaded, const gt_timing_options *timing,
                              gt_result *result, gt_error *error) {
  session->progress(session->context, "time");
  loaded->warm = timing->warm;
  double start = gt_seconds();
  gt_status status = gt_timing_run(timing, gt_loaded_batch, loaded, &result->samples, error);
  result->device_s += gt_seconds() - start;
  if (status == GT_OK) result->readings = read_sensors(session);
  return status;
}

void gt_session_trial(gt_session *session, const gt_built *built, bool check, const gt_timing_options *timing,
                      gt_result *result) {
  gt_error error = {0};
  gt_loaded loaded = {0};
  bool ok;
  *result = (gt_result){.info = {-1, -1, -1, -1}};
  gt_session_settle(session);
  gt_status status = session->prepared ? GT_OK : gt_fail(&error, GT_USAGE, "no problem is prepared");
  if (status == GT_OK) {
    session->progress(session->context, "load");
    status = load(&session->bench, built, &loaded, &error);
  }
  if (status == GT_OK) {
    result->info = loaded.info;
    if (!session->open.backend->executes)
      status = run_scripted(session, &loaded, result, &error);
    else if (!check)
      status = run_once(session, &loaded, 0, GT_POISON_FIRST, result, &ok, &error);
    else if (gt_judge_can(&session->bench))
      status = check_aside(session, &loaded, built->variant, result, &error);
    else
      status = check_step_by_step(session, &session->expected, &loaded, built->variant, result, &error);
  }
  // On a CPU the judge would take from the kernel what is to be timed.
  if (session->open.fingerprint.is_cpu) take_judgement(session, result);
  if (status == GT_OK && result->outcome == GT_OUTCOME_OK && timing)
    status = time_variant(session, &loaded, timing, result, &error);
  if (status != GT_OK) set_error(session, result, &error);
  take_judgement(session, result);
  session->used = loaded;
}

void gt_session_settle(gt_session *session) {
  gt_loaded_close(&session->used);
}

gt_status gt_session_problem(gt_session *session, const gt_problem *problem, const void *grid,
                             gt_buffer *note, gt_error *error) {
  session->prepared = false;
  gt_session_settle(session);
  gt_judge_close(&session->judge);
  gt_expected_close(&session->expected);
  gt_bench_close(&session->bench);
  session->progress(session->context, "prepare");
  gt_status status = gt_bench_open(&session->open, problem, NULL, grid, &session->bench, error);
  if (status != GT_OK) return status;
  if (session->open.backend->executes) {
    status = gt_expected_open(&session->bench, &session->expected, error);
    if (status != GT_OK) {
      gt_bench_close(&session->bench);
      return status;
    }
  }
  gt_judge_open(&session->expected, &session->judge);
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
    gt_buffer_print(note, "only the first and last 512 MiB are compared with %s", gt_plain_family(&session->bench.problem));
  return status;
}

void gt_session_close(gt_session *session) {
  gt_session_settle(session);
  gt_judge_close(&session->judge);
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
  gt_readings readings = read_sensors(session);
  for (size_t i = 0; i < count; i++) {
    results[i].readings = readings;
    results[i].samples.noisy =
        !gt_samples_steady(&results[i].samples, (size_t)timing->min_batches, timing->tolerance);
    gt_loaded_close(&loaded[i]);
  }
  free(loaded);
  free(batch);
}

// The tensors that a bench reads, in storage form, from doubles in NCHW order.
static gt_status open_on_values(gt_session *session, const gt_problem *problem, const double *const *values,
                                gt_bench *bench, gt_error *error) {
  gt_tensor tensors[GT_TENSORS];
  void *stored[GT_TENSORS] = {0};
  const void *grid = NULL;
  int count = gt_problem_tensors(problem, tensors);
  for (int i = 0; i < count && !tensors[i].is_result; i++) {
    stored[i] = gt_values_store(problem, &tensors[i], values[i]);
    if (tensors[i].kind == GT_GRID) grid = stored[i];
  }
  gt_status status = gt_bench_open(&session->open, problem, (const void *const *)stored, grid, bench, error);
  for (int i = 0; i < count; i++) free(stored[i]);
  return status;
}

void gt_session_verify(gt_session *session, const gt_problem *problem, const gt_built *built,
                       const double *const *values, const double *const *term, gt_result *result) {
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
    status = open_on_values(session, problem, values, &bench, &error);
  }
  if (status == GT_OK)
    status = gt_expected_from_values(&bench, values + bench.n_inputs, term, &expected, &error);
  if (status == GT_OK) {
    session->progress(session->context, "load");
    status = load(&bench, built, &loaded, &error);
  }
  if (status == GT_OK)
    status = check_step_by_step(session, &expected, &loaded, built->variant, result, &error);
  if (status != GT_OK) set_error(session, result, &error);
  gt_loaded_close(&loaded);
  gt_expected_close(&expected);
  gt_bench_close(&bench);
}

// Gradients and inputs of zeros, which are quickly made, and the grid that the problem's class has.
static gt_status open_on_zeros(gt_session *session, const gt_problem *problem, gt_bench *bench, gt_error *error) {
  gt_bench sizes;
  void *values[GT_TENSORS] = {0};
  gt_bench_describe(problem, NULL, &sizes);
  for (int i = 0; i < sizes.n_inputs; i++)
    values[i] = sizes.tensors[i].kind == GT_GRID ? sizes.grid : gt_alloc((size_t)gt_bench_bytes(&sizes, i));
  gt_status status = gt_bench_open(&session->open, problem, (const void *const *)values, sizes.grid, bench, error);
  for (int i = 0; i < sizes.n_inputs; i++)
    if (values[i] != sizes.grid) free(values[i]);
  gt_bench_close(&sizes);
  return status;
}

gt_status gt_session_traffic(gt_session *session, const gt_problem *problem, const gt_built *built,
                             gt_traffic *traffic, gt_error *error) {
  const gt_open_device *open = &session->open;
  gt_bench bench = {0};
  gt_loaded loaded = {0};
  if (!open->backend->traffic)
    return gt_fail(error, GT_UNSUPPORTED, "%s does not count the traffic of kernels", open->name);
  gt_status status = open->backend->traffic(open->device, traffic, error);
  if (status != GT_OK) return status;
  session->progress(session->context, "prepare");
  status = open_on_zeros(session, problem, &bench, error);
  if (status == GT_OK) status = load(&bench, built, &loaded, error);
  // Counting takes its time on a device that is emulated.
  session->progress(session->context, "time");
  if (status == GT_OK) status = gt_loaded_traffic(&loaded, traffic, error);
  if (status == GT_LAUNCH || status == GT_DEVICE_LOST) session->broken = true;
  gt_loaded_close(&loaded);
  gt_bench_close(&bench);
  return status;
}
