// What a workshop asks of the worker that has the device: trials, retimings, verifications.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/timing.h"
#include "tuner/values.h"
#include "tuner/wire.h"
#include "tuner/workshop_inside.h"

#define FLUSH_SECONDS 1.0 // a request is read at once, unless the worker is gone

static json_t *timing_to_json(const gt_timing_options *timing) {
  return json_pack("{s:f, s:f, s:i, s:i, s:f, s:f, s:b}", "tolerance", timing->tolerance, "batch_us",
                   timing->batch_us, "min_batches", timing->min_batches, "max_batches", timing->max_batches,
                   "max_seconds", timing->max_seconds, "drop_us", timing->drop_us, "warm", (int)timing->warm);
}

// Not believed where it cannot be: the cache would refuse it.
static int read_sensor(const json_t *readings, const char *name) {
  json_int_t value = json_integer_value(json_object_get(readings, name));
  return value >= 0 && value <= INT_MAX ? (int)value : 0;
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
  trial->noisy = json_is_true(json_object_get(answer, "noisy"));
  const json_t *readings = json_object_get(answer, "readings");
  trial->readings = (gt_readings){read_sensor(readings, "temperature_c"), read_sensor(readings, "clock_mhz"),
                                  read_sensor(readings, "memory_clock_mhz")};
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

static void forget_trial(gt_trial_in_progress *now) {
  gt_trial_free(&now->trial);
  json_decref(now->request);
  gt_buffer_free(&now->code);
  *now = (gt_trial_in_progress){0};
}

static void send_trial(gt_workshop *workshop) {
  gt_trial_in_progress *now = &workshop->trial;
  snprintf(now->phase, sizeof now->phase, "prepare");
  gt_child_send(workshop->child, now->request, now->code.data, now->code.length);
  gt_child_flush(workshop->child, FLUSH_SECONDS);
}

gt_status gt_workshop_begin_trial(gt_workshop *workshop, const gt_variant *variant, bool check,
                                  const gt_timing_options *timing, gt_error *error) {
  const gt_compiled *compiled;
  gt_trial_in_progress *now = &workshop->trial;
  forget_trial(now);
  *now = (gt_trial_in_progress){.trial = {.registers = -1, .lds_bytes = -1, .scratch_bytes = -1}};
  gt_compilers_ask(gt_workshop_compilers(workshop), variant); // may go on while the problem is prepared
  gt_status status = gt_workshop_ensure_prepared(workshop, error);
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
  now->request = json_pack("{s:s, s:o, s:b, s:o}", "do", "trial", "variant", gt_variant_to_json(variant),
                           "check", (int)check, "timing", timing_to_json(timing));
  gt_buffer_append(&now->code, compiled->code.data, compiled->code.length);
  send_trial(workshop);
  now->on_device = true;
  return GT_OK;
}

gt_status gt_workshop_end_trial(gt_workshop *workshop, gt_trial *trial, gt_error *error) {
  gt_trial_in_progress *now = &workshop->trial;
  *trial = now->trial;
  now->trial = (gt_trial){0};
  if (!now->on_device) return GT_OK;
  gt_status status = GT_OK;
  json_t *answer = NULL;
  gt_buffer payload = {0}, failure = {0};
  gt_talk_end end = gt_workshop_await(workshop, now->phase, &answer, &payload, &failure);
  // A worker that was stopped or killed from outside says nothing of the variant, nor does one that was still busy with
  // what the trial before had left: once more, in a new one.
  bool innocent = workshop->disturbed || strcmp(now->phase, "prepare") == 0;
  if ((end == GT_TALK_DIED || end == GT_TALK_TIMED_OUT) && innocent) {
    status = gt_workshop_ensure_prepared(workshop, error);
    if (status == GT_OK) {
      gt_buffer_clear(&failure);
      send_trial(workshop);
      end = gt_workshop_await(workshop, now->phase, &answer, &payload, &failure);
    }
  }
  forget_trial(now);
  if (status != GT_OK) {
    ; // there is no worker any more
  } else if (end == GT_TALK_ANSWERED && !json_object_get(answer, "outcome")) {
    status = gt_workshop_status(answer, error); // the request was at fault, not the variant
  } else if (end == GT_TALK_ANSWERED) {
    read_result(answer, trial);
    workshop->device_seconds += json_number_value(json_object_get(answer, "device_s"));
  } else if (end == GT_TALK_INTERRUPTED) {
    status = gt_workshop_fail(end, &failure, error);
  } else {
    trial->outcome = end == GT_TALK_TIMED_OUT ? GT_OUTCOME_TIMEOUT : GT_OUTCOME_CRASH;
    trial->message = gt_strdup(failure.data);
  }
  if (status != GT_OK) gt_trial_free(trial);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}

void gt_workshop_give_up_trial(gt_workshop *workshop) {
  if (workshop->trial.on_device) gt_workshop_drop(workshop);
  forget_trial(&workshop->trial);
}

gt_status gt_workshop_trial(gt_workshop *workshop, const gt_variant *variant, bool check,
                            const gt_timing_options *timing, gt_trial *trial, gt_error *error) {
  *trial = (gt_trial){0};
  gt_status status = gt_workshop_begin_trial(workshop, variant, check, timing, error);
  return status == GT_OK ? gt_workshop_end_trial(workshop, trial, error) : status;
}

gt_status gt_workshop_retime(gt_workshop *workshop, const gt_variant *variants, size_t count,
                             const gt_timing_options *timing, gt_trial *trials, gt_error *error) {
  gt_status status = gt_workshop_ensure_prepared(workshop, error);
  json_t *answer = NULL, *list = json_array(), *sizes = json_array();
  size_t *trial_of = gt_alloc((count ? count : 1) * sizeof *trial_of), sent = 0;
  gt_buffer codes = {0}, payload = {0}, failure = {0};
  for (size_t i = 0; i < count; i++) gt_compilers_ask(gt_workshop_compilers(workshop), &variants[i]);
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
    gt_talk_end end =
        gt_workshop_talk(workshop, request, codes.data, codes.length, &answer, &payload, &failure);
    status =
        end == GT_TALK_ANSWERED ? gt_workshop_status(answer, error) : gt_workshop_fail(end, &failure, error);
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
  gt_status status = gt_workshop_ensure_open(workshop, error);
  if (status == GT_OK) status = gt_workshop_code(workshop, variant, &compiled, error);
  if (status != GT_OK) return status;
  *outcome = outcome_of(compiled->status);
  if (compiled->status != GT_OK) {
    gt_buffer_append(message, compiled->message.data, compiled->message.length);
    return GT_OK;
  }
  gt_problem_print(which->problem, text);
  gt_tensor tensors[GT_TENSORS];
  int count = gt_problem_tensors(which->problem, tensors);
  gt_buffer values = {0}, payload = {0}, failure = {0};
  for (int terms = 0; terms < 2; terms++)
    for (int i = 0; i < count; i++)
      if (!terms || tensors[i].is_result)
        gt_buffer_append(&values, (terms ? which->term : which->values)[tensors[i].kind],
                         (size_t)gt_tensor_elements(which->problem, &tensors[i]) * sizeof(double));
  gt_buffer_append(&values, compiled->code.data, compiled->code.length);

  json_t *answer = NULL;
  json_t *request =
      json_pack("{s:s, s:s, s:o}", "do", "verify", "problem", text, "variant", gt_variant_to_json(variant));
  gt_talk_end end =
      gt_workshop_talk(workshop, request, values.data, values.length, &answer, &payload, &failure);
  if (end == GT_TALK_INTERRUPTED) {
    status = gt_workshop_fail(end, &failure, error);
  } else if (end != GT_TALK_ANSWERED) {
    *outcome = end == GT_TALK_TIMED_OUT ? GT_OUTCOME_TIMEOUT : GT_OUTCOME_CRASH;
    gt_buffer_append(message, failure.data, failure.length);
  } else if (!gt_outcome_from_name(gt_wire_string(answer, "outcome"), outcome) ||
             strcmp(gt_wire_string(answer, "status"), "UNSUPPORTED") == 0) {
    status = gt_workshop_status(answer, error);
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
  gt_status status = gt_workshop_ensure_open(workshop, error);
  if (status != GT_OK) return status;
  gt_problem_print(problem, text);
  json_t *answer = NULL, *request = json_pack("{s:s, s:s, s:o}", "do", "traffic", "problem", text, "variant",
                                              gt_variant_to_json(variant));
  gt_buffer payload = {0}, failure = {0};
  gt_talk_end end =
      gt_workshop_talk(workshop, request, code->data, code->length, &answer, &payload, &failure);
  status = end == GT_TALK_ANSWERED ? gt_workshop_status(answer, error) : gt_workshop_fail(end, &failure, error);
  *traffic = (gt_traffic){.read = read_moved(json_object_get(answer, "read")),
                          .written = read_moved(json_object_get(answer, "written"))};
  json_decref(request);
  json_decref(answer);
  gt_buffer_free(&payload);
  gt_buffer_free(&failure);
  return status;
}
