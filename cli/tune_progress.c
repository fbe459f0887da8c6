#include "cli/tune_progress.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/trial.h"
#include "generator/default.h"

enum { BAR = 10, LINES = 10, CLASS_LINES = 4 }; // characters; plain lines per problem, and per class of positions of one
enum { TOLD_FAILURES = 5 };    // told one by one per problem; the rest is counted
static const double seconds_between_lines = 30;

// --- estimates
// -------------------------------------------------------------------------------------------------

// Seconds until all problems of a pool are done: what its devices are at, and as long as the mean so far for each
// that waits. < 0 while nothing is known.
static double pool_seconds_left(const gt_tune_run *run, size_t pool) {
  double spent = 0, left = 0, longest = 0;
  size_t measured = 0, waiting = 0, devices = 0, at_work = 0;
  for (size_t i = 0; i < run->n_rows; i++) {
    const gt_tune_row *row = &run->rows[i];
    if (row->pool != pool) continue;
    waiting += row->state == GT_ROW_WAITING;
    if (row->state != GT_ROW_DONE || row->tuned.seconds <= 0) continue; // or all of it was in the cache
    spent += row->seconds;
    measured++;
  }
  for (size_t i = 0; i < run->n_devices; i++) {
    const gt_tune_device *device = &run->devices[i];
    if (device->pool != pool || device->lost) continue;
    devices++;
    if (!device->row) continue;
    if (device->seconds_left < 0) return -1;
    left += device->seconds_left;
    if (device->seconds_left > longest) longest = device->seconds_left;
    at_work++;
    if (!measured) spent += gt_seconds() - device->told_begin + device->seconds_left;
  }
  size_t of = measured ? measured : at_work;
  if (!devices || !waiting) return longest;
  return of ? (left + (double)waiting * spent / (double)of) / (double)devices : -1;
}

static double seconds_left(const gt_tune_run *run) {
  double most = -1;
  for (size_t i = 0; i < run->n_pools; i++) {
    double left = pool_seconds_left(run, i);
    if (left < 0) return -1;
    if (left > most) most = left;
  }
  return most;
}

// --- the line
// --------------------------------------------------------------------------------------------------

static void print_duration(gt_buffer *line, double seconds) {
  if (seconds < 60)
    gt_buffer_print(line, "%.0f s", seconds);
  else if (seconds < 5400)
    gt_buffer_print(line, "%.0f min", seconds / 60);
  else
    gt_buffer_print(line, "%.1f h", seconds / 3600);
}

static void print_time_left(const gt_tune_run *run, const gt_tune_progress *now, gt_buffer *line) {
  double all = run->n_rows > 1 ? seconds_left(run) : -1;
  if ((now->done >= now->total && now->class == now->classes) || now->seconds_left < 0) return;
  gt_buffer_print(line, ", ");
  print_duration(line, now->seconds_left);
  gt_buffer_print(line, " left");
  if (all < 0) return;
  gt_buffer_print(line, " (all: ");
  print_duration(line, all);
  gt_buffer_print(line, ")");
}

static void describe(const gt_tune_device *device, const gt_tune_progress *now, gt_buffer *line) {
  const gt_tune_run *run = device->run;
  if (run->n_devices > 1) gt_buffer_print(line, "%s: ", device->name);
  gt_buffer_print(line, "problem %zu/%zu, ", device->row->number, run->n_rows);
  if (now->classes)
    gt_buffer_print(line, "%s (%zu/%zu), ", gt_grid_class_name(now->problem->sampling.positions), now->class, now->classes);
  gt_buffer_print(line, "trial %zu/%zu", now->done, now->total);
  print_time_left(run, now, line);
  if (now->best) {
    gt_buffer_print(line, ", best %s µs", gt_microseconds(now->best_us).text);
    if (now->default_us > 0 && now->best_us > 0)
      gt_buffer_print(line, ", %s × %s", gt_ratio(now->default_us, now->best_us, "").text,
                      gt_plain_family(now->problem));
    if (now->stream_us > 0 && now->best_us > 0)
      gt_buffer_print(line, ", %s of stream", gt_ratio(now->stream_us, now->best_us, "").text);
  }
  if (now->device_busy >= 0) gt_buffer_print(line, ", busy %.0f %%", 100 * now->device_busy);
  gt_buffer_print(line, ", %zu rejected, %zu failed", now->rejected, now->failed);
  if (now->best) gt_buffer_print(line, ", %s", now->best);
}

// --- a terminal
// ------------------------------------------------------------------------------------------------

static void draw(gt_tune_run *run) {
  const char **lines = gt_alloc((run->n_devices + 1) * sizeof *lines);
  size_t count = 0;
  for (size_t i = 0; i < run->n_devices; i++)
    if (run->devices[i].row && run->devices[i].line) lines[count++] = run->devices[i].line;
  gt_progress_lines(&run->progress, lines, count);
  free(lines);
}

static void show_on_terminal(gt_tune_device *device, const gt_tune_progress *now) {
  gt_tune_run *run = device->run;
  if (now->done < now->total && device->line && !gt_progress_due(&run->progress)) return;
  gt_buffer line = {0};
  size_t full = now->total ? BAR * now->done / now->total : BAR;
  if (now->classes) full = (BAR * (now->class - 1) + full) / now->classes;
  gt_buffer_print(&line, "[");
  for (size_t i = 0; i < BAR; i++) gt_buffer_print(&line, i < full ? "#" : "-");
  gt_buffer_print(&line, "] ");
  describe(device, now, &line);
  free(device->line);
  device->line = gt_strdup(line.data);
  gt_buffer_free(&line);
  if (gt_progress_due(&run->progress)) draw(run);
}

// --- elsewhere
// -------------------------------------------------------------------------------------------------

static void show_plainly(gt_tune_device *device, const gt_tune_progress *now) {
  size_t lines = now->classes ? CLASS_LINES : LINES, step = now->total / lines ? now->total / lines : 1;
  if (now->class != device->told_class) device->told_done = 0; // it begins anew
  device->told_class = now->class;
  bool due = now->done > device->told_done && (now->done == now->total || now->done - device->told_done >= step);
  if (!due && gt_seconds() - device->told_at < seconds_between_lines) return;
  gt_buffer line = {0};
  describe(device, now, &line);
  fprintf(stderr, "  %s\n", line.data);
  gt_buffer_free(&line);
  device->told_at = gt_seconds();
  device->told_done = now->done;
}

// --- from the run
// ----------------------------------------------------------------------------------------------

void gt_tune_progress_begin(gt_tune_device *device) {
  gt_tune_run *run = device->run;
  device->told_failed = device->told_done = device->told_class = 0;
  device->told_at = device->told_begin = gt_seconds();
  device->seconds_left = -1;
  free(device->line);
  device->line = NULL;
  if (run->quiet) return;
  gt_progress_clear(&run->progress);
  fprintf(stderr, "tuning %zu of %zu", device->row->number, run->n_rows);
  if (run->n_devices > 1) fprintf(stderr, " on %s", device->name);
  fprintf(stderr, ": %s\n", device->row->text);
}

static void tell_failure(gt_tune_device *device, const gt_trial *trial) {
  char *original = gt_trial_duplicate_of(trial); // it was told with that one
  if (!original && device->told_failed++ < TOLD_FAILURES) {
    gt_progress_clear(&device->run->progress);
    gt_trial_complain(device->row->text, device->name, trial);
  }
  free(original);
}

void gt_tune_progress_show(gt_tune_device *device, const gt_tune_progress *now) {
  if (now->last && !now->cached && now->last->outcome != GT_OUTCOME_OK) tell_failure(device, now->last);
  device->seconds_left = now->seconds_left;
  if (device->run->quiet) return;
  if (device->run->progress.terminal)
    show_on_terminal(device, now);
  else
    show_plainly(device, now);
}

void gt_tune_progress_end(gt_tune_device *device) {
  gt_progress_clear(&device->run->progress);
  if (device->told_failed > TOLD_FAILURES)
    gt_complain("%s failed; gathertune list --trials %s shows them",
                gt_counted(device->told_failed - TOLD_FAILURES, "more trial").text, device->row->text);
}
