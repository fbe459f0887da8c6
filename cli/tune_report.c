#include "cli/tune_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/table.h"
#include "cli/trial.h"
#include "cli/tune_value.h"
#include "generator/default.h"
#include "tuner/wire.h"

// --- tables
// --------------------------------------------------------------------------------------------------

static bool is_shown(const gt_tune_row *row, size_t pool) {
  return row->pool == pool && row->state == GT_ROW_DONE;
}

static size_t devices_of(const gt_tune_run *run, size_t pool, const gt_tune_device **first) {
  size_t count = 0;
  for (size_t i = run->n_devices; i-- > 0;) {
    if (run->devices[i].pool != pool) continue;
    *first = &run->devices[i];
    count++;
  }
  return count;
}

static void print_heading(const gt_tune_run *run, size_t pool) {
  const gt_tune_device *first = NULL;
  devices_of(run, pool, &first);
  printf("%s (", first->fingerprint.name);
  for (size_t i = 0; i < run->n_devices; i++)
    if (run->devices[i].pool == pool) printf("%s, ", run->devices[i].name);
  printf("%s, %d compute units), %s cache\n\n", first->fingerprint.arch, first->fingerprint.compute_units,
         run->tune.timing.warm ? "warm" : "cold");
}

// What speed-ups are against: the family's name, where it is the same for all problems.
static const char *plain_family(const gt_tune_run *run) {
  const char *name = gt_plain_family(&run->suite->problems[0]);
  for (size_t i = 1; i < run->suite->count; i++)
    if (strcmp(gt_plain_family(&run->suite->problems[i]), name) != 0) return "plain";
  return name;
}

static void print_winners(const gt_tune_run *run, size_t pool) {
  char *headings = gt_print("problem|%s µs|best µs|speed-up|of stream|configuration", plain_family(run));
  gt_table *table = gt_table_new(headings, "lrrrrl");
  free(headings);
  for (size_t i = 0; i < run->n_rows; i++) {
    const gt_tune_row *row = &run->rows[i];
    const gt_tuned *t = &row->tuned;
    if (!is_shown(row, pool)) continue;
    const char *none = t->empty ? "empty problem: nothing to launch" : "none";
    const char *note = row->status == GT_OK || !t->configuration ? "" : " (so far)";
    gt_table_cell(table, "%s", row->text);
    gt_table_cell(table, "%s", gt_microseconds(t->default_us).text);
    gt_table_cell(table, "%s", gt_microseconds(t->best_us).text);
    gt_table_cell(table, "%s", gt_ratio(t->default_us, t->best_us, "").text);
    gt_table_cell(table, "%s", gt_ratio(t->stream_us, t->best_us, "").text);
    gt_table_cell(table, "%s%s", t->configuration ? t->configuration : none, note);
  }
  gt_table_print(table, stdout);
  gt_table_free(table);
}

static void print_row(const gt_tune_row *row, bool with_device) {
  const gt_tuned *t = &row->tuned;
  if (t->empty) return;
  printf("%s: %zu of %s tried, %zu failed, %zu rejected as too slow, %zu cached, %s, %zu tied with the winner%s\n",
         row->text, t->tried, gt_counted(t->space, "configuration").text, t->failed, t->rejected, t->cached,
         gt_counted(t->duplicates, "duplicate").text, t->n_ties,
         t->noisy ? ", whose times are noisy" : "");
  if (t->note) printf("  %s\n", t->note);
  if (t->quarantined)
    printf("  %zu in quarantine were not tried, since they crashed or hung before: gathertune list "
           "--quarantine shows them, --retry tries them again\n",
           t->quarantined);
  if (t->stale && t->stale_refused)
    printf("  the stored winner %s was stale: the templates do not have it any more\n", t->stale);
  else if (t->stale_tried)
    printf("  the stored winner %s was stale, and was tried first: %s\n", t->stale,
           gt_outcome_name(t->stale_outcome));
  if (t->seconds > 0)
    printf("  %s%sdevice busy %.0f %% of %.1f s, %.1f s waiting for compilers; %s compiled, %s reused\n",
           with_device ? row->device->name : "", with_device ? ": " : "", 100 * t->device_seconds / t->seconds,
           t->seconds, t->compile_wait_seconds, gt_counted(t->compiled, "source").text,
           gt_counted(t->reused, "code object").text);
}

static void print_device(const gt_tune_device *device) {
  printf("%s: %s in %.1f s", device->name, gt_counted(device->problems, "problem").text, device->seconds);
  if (device->seconds > 0) printf(", busy %.0f %%", 100 * device->device_seconds / device->seconds);
  printf("%s\n", device->lost ? "; lost" : "");
}

// "1.23 s" of microseconds, with a unit that fits.
static gt_short duration(double us) {
  gt_short result = {"0"};
  if (us >= 1e6)
    snprintf(result.text, sizeof result.text, "%.2f s", us / 1e6);
  else if (us >= 1e3)
    snprintf(result.text, sizeof result.text, "%.2f ms", us / 1e3);
  else if (us > 0)
    snprintf(result.text, sizeof result.text, "%.2f µs", us);
  return result;
}

static void print_value(const gt_tune_run *run, size_t pool) {
  gt_tune_value value = gt_tune_value_of(run, pool);
  if (value.list) {
    printf("\nvalue of tuning: (untuned - best) x calls; untuned is what programs get for a problem that was not "
           "tuned\n\n");
    gt_table *table = gt_table_new("problem|calls|untuned µs|best µs|saved|of all saved|untuned configuration", "lrrrrrl");
    for (size_t i = 0; i < value.count; i++) {
      const gt_tune_row *row = value.list[i].row;
      gt_table_cell(table, "%s", row->text);
      gt_table_cell(table, "%lld", (long long)row->calls);
      gt_table_cell(table, "%s", gt_microseconds(row->tuned.untuned_us).text);
      gt_table_cell(table, "%s", gt_microseconds(row->tuned.best_us).text);
      gt_table_cell(table, "%s", duration(value.list[i].saved_us).text);
      gt_table_cell(table, "%.1f %%", value.saved_us > 0 ? 100 * value.list[i].saved_us / value.saved_us : 0);
      gt_table_cell(table, "%s", row->tuned.untuned);
    }
    if (value.count) gt_table_print(table, stdout);
    gt_table_free(table);
    if (value.count)
      printf("\n%s saved of %s, %.1f %%\n", duration(value.saved_us).text, duration(value.untuned_us).text,
             100 * value.saved_us / value.untuned_us);
    if (value.left_out)
      printf("%zu left out: without calls=, without a winner, or the default was not tried\n", value.left_out);
  }
  gt_tune_value_free(&value);
}

void gt_tune_report_print(const gt_tune_run *run) {
  for (size_t pool = 0; pool < run->n_pools; pool++) {
    const gt_tune_device *first = NULL;
    size_t devices = devices_of(run, pool, &first);
    if (pool) putchar('\n');
    print_heading(run, pool);
    print_winners(run, pool);
    putchar('\n');
    for (size_t i = 0; i < run->n_rows; i++)
      if (is_shown(&run->rows[i], pool)) print_row(&run->rows[i], devices > 1);
    for (size_t i = 0; i < run->n_devices && run->n_devices > 1; i++)
      if (run->devices[i].pool == pool) print_device(&run->devices[i]);
    print_value(run, pool);
  }
  if (run->suite->unknown) printf("%s left out: operators not known\n", gt_counted(run->suite->unknown, "line").text);
}

// --- JSON
// ----------------------------------------------------------------------------------------------------

static void set_count(json_t *json, const char *key, size_t count) {
  json_object_set_new(json, key, json_integer((json_int_t)count));
}

json_t *gt_tune_row_json(const gt_tune_row *row) {
  const gt_tuned *t = &row->tuned;
  json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:b}", "problem", row->text, "device",
                           row->device->name, "status", gt_status_name(row->status), "message", row->message,
                           "configuration", t->configuration, "default_us", gt_json_number(t->default_us),
                           "best_us", gt_json_number(t->best_us), "best_spread_us",
                           gt_json_number(t->best_spread_us), "stream_us", gt_json_number(t->stream_us), "empty",
                           t->empty);
  json_object_set_new(json, "untuned", t->untuned ? json_string(t->untuned) : json_null());
  json_object_set_new(json, "untuned_us", gt_json_number(t->untuned_us));
  json_object_set_new(json, "deterministic", t->repeating ? json_string(t->repeating) : json_null());
  json_object_set_new(json, "deterministic_us", gt_json_number(t->repeating_us));
  json_object_set_new(json, "calls", row->calls ? json_integer(row->calls) : json_null());
  set_count(json, "tried", t->tried);
  set_count(json, "failed", t->failed);
  set_count(json, "rejected", t->rejected);
  set_count(json, "cached", t->cached);
  set_count(json, "quarantined", t->quarantined);
  json_object_set_new(json, "noisy", json_boolean(t->noisy));
  json_object_set_new(json, "ties", gt_ties_json(t->ties, t->n_ties));
  set_count(json, "duplicates", t->duplicates);
  set_count(json, "compiled", t->compiled);
  set_count(json, "code_reused", t->reused);
  json_object_set_new(json, "seconds", gt_json_number(t->seconds));
  json_object_set_new(json, "compile_wait_s", json_real(t->compile_wait_seconds));
  json_object_set_new(json, "device_busy",
                      t->seconds > 0 ? json_real(t->device_seconds / t->seconds) : json_null());
  set_count(json, "space", t->space);
  json_object_set_new(json, "note", t->note ? json_string(t->note) : json_null());
  json_object_set_new(json, "stale",
                      t->stale ? json_pack("{s:s, s:s?}", "configuration", t->stale, "outcome",
                                           t->stale_refused ? "refused"
                                           : t->stale_tried ? gt_outcome_name(t->stale_outcome)
                                                            : NULL)
                               : json_null());
  return json;
}

json_t *gt_tune_devices_json(const gt_tune_run *run) {
  json_t *list = json_array();
  for (size_t i = 0; i < run->n_devices; i++) {
    const gt_tune_device *device = &run->devices[i];
    if (device->pool == SIZE_MAX) continue;
    json_t *json = json_pack("{s:s, s:o, s:b, s:s}", "name", device->name, "fingerprint",
                             gt_wire_fingerprint(&device->fingerprint), "lost", device->lost, "message",
                             device->error.text);
    set_count(json, "problems", device->problems);
    json_object_set_new(json, "seconds", json_real(device->seconds));
    json_object_set_new(json, "busy",
                        device->seconds > 0 ? json_real(device->device_seconds / device->seconds) : json_null());
    json_array_append_new(list, json);
  }
  return list;
}

json_t *gt_tune_value_json(const gt_tune_run *run) {
  json_t *all = json_array();
  for (size_t pool = 0; pool < run->n_pools; pool++) {
    const gt_tune_device *first = NULL;
    char model[320];
    gt_tune_value value = gt_tune_value_of(run, pool);
    devices_of(run, pool, &first);
    if (!value.list) continue;
    json_t *list = json_array();
    for (size_t i = 0; i < value.count; i++) {
      const gt_tune_saving *saving = &value.list[i];
      double share = value.saved_us > 0 ? saving->saved_us / value.saved_us : 0;
      json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:f, s:f, s:f, s:f}", "problem", saving->row->text,
                                            "calls", (json_int_t)saving->row->calls, "untuned",
                                            saving->row->tuned.untuned, "untuned_us",
                                            saving->row->tuned.untuned_us, "best_us", saving->row->tuned.best_us,
                                            "saved_us", saving->saved_us, "share", share));
    }
    gt_model_print(&first->fingerprint, model);
    json_array_append_new(all, json_pack("{s:s, s:f, s:f, s:I, s:o}", "model", model, "untuned_us",
                                         value.untuned_us, "saved_us", value.saved_us, "left_out",
                                         (json_int_t)value.left_out, "problems", list));
    gt_tune_value_free(&value);
  }
  return all;
}

json_t *gt_tune_report_json(const gt_tune_run *run) {
  json_t *rows = json_array();
  for (size_t i = 0; i < run->n_rows; i++)
    if (run->rows[i].state == GT_ROW_DONE) json_array_append_new(rows, gt_tune_row_json(&run->rows[i]));
  json_t *json = json_pack("{s:o, s:s?, s:b, s:b, s:I, s:o, s:o}", "devices", gt_tune_devices_json(run), "cache",
                           run->cache_path, "warm", run->tune.timing.warm, "interrupted", gt_was_interrupted(),
                           "left_out", (json_int_t)run->suite->unknown, "problems", rows, "value",
                           gt_tune_value_json(run));
  if (run->n_devices == 1) { // as well, for those who read one
    json_object_set_new(json, "device", json_string(run->devices[0].name));
    json_object_set_new(json, "fingerprint", gt_wire_fingerprint(&run->devices[0].fingerprint));
  }
  return json;
}
