#include "cli/tune_events.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/trial.h"
#include "cli/tune_report.h"

// Takes over `fields`; its keys come behind those that every event has.
static void put(const gt_tune_run *run, const char *event, json_t *fields) {
  json_t *line = json_pack("{s:s, s:f}", "event", event, "time_s", gt_seconds() - run->began);
  json_object_update(line, fields);
  json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
  putchar('\n');
  fflush(stdout);
  json_decref(line);
  json_decref(fields);
}

void gt_tune_event_run(const gt_tune_run *run) {
  if (!run->json_lines) return;
  put(run, "run",
      json_pack("{s:s, s:o, s:I, s:i, s:I, s:s?, s:b}", "version", GT_VERSION, "devices", gt_tune_devices_json(run),
                "problems", (json_int_t)run->n_rows, "budget", run->tune.budget, "seed",
                (json_int_t)run->tune.seed, "cache", run->cache_path, "warm", run->tune.timing.warm));
}

void gt_tune_event_problem(const gt_tune_device *device) {
  const gt_tune_row *row = device->row;
  if (!device->run->json_lines) return;
  put(device->run, "problem",
      json_pack("{s:s, s:s, s:I, s:I, s:o}", "device", device->name, "problem", row->text, "number",
                (json_int_t)row->number, "of", (json_int_t)device->run->n_rows, "calls",
                row->calls ? json_integer(row->calls) : json_null()));
}

void gt_tune_event_trial(const gt_tune_device *device, const gt_tune_progress *now) {
  if (!device->run->json_lines) return;
  json_t *json = gt_trial_json(now->last);
  json_object_del(json, "samples_us"); // a run has too many; they are in the cache
  json_object_update_new(json, json_pack("{s:s, s:s, s:I, s:I, s:b, s:b, s:s?, s:o, s:o, s:o}", "device",
                                         device->name, "problem", device->row->text, "number",
                                         (json_int_t)now->done, "of", (json_int_t)now->total, "cached", now->cached,
                                         "rejected", now->last_rejected, "best", now->best, "best_us",
                                         gt_json_number(now->best_us), "default_us",
                                         gt_json_number(now->default_us), "stream_us",
                                         gt_json_number(now->stream_us)));
  char text[GT_PROBLEM_TEXT];
  gt_problem_print(now->problem, text);
  json_object_set_new(json, "kept_as", json_string(text));
  json_object_set_new(json, "device_busy", now->device_busy < 0 ? json_null() : json_real(now->device_busy));
  put(device->run, "trial", json);
}

void gt_tune_event_result(const gt_tune_device *device, const gt_tune_row *row) {
  if (device->run->json_lines) put(device->run, "result", gt_tune_row_json(row));
}

void gt_tune_event_lost(const gt_tune_device *device) {
  if (device->run->json_lines)
    put(device->run, "lost", json_pack("{s:s, s:s}", "device", device->name, "message", device->error.text));
}

void gt_tune_event_end(const gt_tune_run *run) {
  if (!run->json_lines) return;
  size_t done = 0, tried = 0, failed = 0, rejected = 0, cached = 0;
  for (size_t i = 0; i < run->n_rows; i++) {
    const gt_tuned *t = &run->rows[i].tuned;
    if (run->rows[i].state != GT_ROW_DONE) continue;
    done++;
    tried += t->tried;
    failed += t->failed;
    rejected += t->rejected;
    cached += t->cached;
  }
  put(run, "end",
      json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "status", gt_status_name(run->worst),
                "interrupted", gt_was_interrupted(), "done", (json_int_t)done, "tried", (json_int_t)tried, "failed",
                (json_int_t)failed, "rejected", (json_int_t)rejected, "cached", (json_int_t)cached, "left_out",
                (json_int_t)run->suite->unknown, "devices", gt_tune_devices_json(run), "value",
                gt_tune_value_json(run)));
}
