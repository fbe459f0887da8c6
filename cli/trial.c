#include "cli/trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"

static void print_if_known(const char *what, int value, const char *unit) {
  if (value >= 0) printf("  %-10s %d%s\n", what, value, unit);
}

void gt_trial_print(const char *problem, const gt_trial *trial) {
  printf("%s\n  %-10s %s\n  %-10s %s", problem, "tried", trial->configuration, "outcome",
         gt_outcome_name(trial->outcome));
  if (trial->outcome == GT_OUTCOME_OK) printf("%s", trial->checked ? ", result checked" : ", not checked");
  if (trial->message && *trial->message) printf(": %s", trial->message);
  putchar('\n');
  if (trial->outcome == GT_OUTCOME_OK)
    printf("  %-10s %s µs, spread %.2f µs, %zu samples%s\n", "time", gt_microseconds(trial->median_us).text,
           trial->spread_us, trial->n_samples, trial->noisy ? ", noisy" : "");
  print_if_known("at", trial->readings.temperature_c ? trial->readings.temperature_c : -1, " °C");
  print_if_known("clock", trial->readings.clock_mhz ? trial->readings.clock_mhz : -1, " MHz");
  if (trial->compile_ms > 0) printf("  %-10s %.1f ms\n", "compiling", trial->compile_ms);
  print_if_known("registers", trial->registers, "");
  print_if_known("shared", trial->lds_bytes, " bytes per block");
  print_if_known("scratch", trial->scratch_bytes, " bytes per thread");
}

static json_t *known(int value) {
  return value >= 0 ? json_integer(value) : json_null();
}

json_t *gt_readings_json(const gt_readings *readings) {
  return json_pack("{s:o, s:o, s:o}", "temperature_c", gt_json_number(readings->temperature_c), "clock_mhz",
                   gt_json_number(readings->clock_mhz), "memory_clock_mhz",
                   gt_json_number(readings->memory_clock_mhz));
}

json_t *gt_ties_json(const gt_tie *ties, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list,
                          json_pack("{s:s, s:f, s:o}", "configuration", ties[i].configuration, "median_us",
                                    ties[i].median_us, "registers", known(ties[i].registers)));
  return list;
}

json_t *gt_trial_json(const gt_trial *trial) {
  json_t *samples = json_array();
  for (size_t i = 0; i < trial->n_samples; i++)
    json_array_append_new(samples, json_real(trial->samples_us[i]));
  char *original = gt_trial_duplicate_of(trial);
  json_t *duplicate_of = original ? json_string(original) : json_null();
  free(original);
  return json_pack("{s:s, s:o, s:s, s:s, s:o, s:f, s:b, s:f, s:o, s:o, s:o, s:o, s:b, s:o}", "configuration",
                   trial->configuration, "duplicate_of", duplicate_of, "outcome",
                   gt_outcome_name(trial->outcome), "message", trial->message ? trial->message : "",
                   "median_us", gt_json_number(trial->median_us), "spread_us", trial->spread_us, "checked",
                   trial->checked, "compile_ms", trial->compile_ms, "registers", known(trial->registers),
                   "lds_bytes", known(trial->lds_bytes), "scratch_bytes", known(trial->scratch_bytes),
                   "samples_us", samples, "noisy", trial->noisy, "readings",
                   gt_readings_json(&trial->readings));
}

void gt_trial_complain(const char *problem, const char *device, const gt_trial *trial) {
  gt_buffer line = {0};
  gt_complain("%s: %s: %s; again with", trial->configuration, gt_outcome_name(trial->outcome),
              trial->message && *trial->message ? trial->message : "no message");
  gt_command_start(&line, "tune");
  gt_command_word(&line, problem);
  gt_command_word(&line, "--device");
  gt_command_word(&line, device);
  gt_command_word(&line, "--config");
  gt_command_word(&line, trial->configuration);
  fprintf(stderr, "  %s\n", line.data);
  gt_buffer_free(&line);
}

json_t *gt_winner_json(const gt_winner *winner) {
  return json_pack("{s:s, s:s, s:s, s:o, s:f, s:o, s:o, s:I, s:s, s:s, s:s, s:o}", "problem", winner->problem,
                   "model", winner->device, "configuration", winner->variant.configuration, "median_us",
                   gt_json_number(winner->median_us), "spread_us", winner->spread_us, "default_us",
                   gt_json_number(winner->default_us), "stream_us", gt_json_number(winner->stream_us),
                   "code_bytes", (json_int_t)winner->code_size, "compiler", winner->compiler, "driver",
                   winner->driver, "tuned_at", winner->tuned_at, "ties",
                   gt_ties_json(winner->ties, winner->n_ties));
}
