#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "cli/command.h"

enum { BAR = 24, LINES = 10 };                  // characters; plain lines per problem
static const double seconds_between_bars = 0.1; // often enough to look alive
static const double seconds_between_lines = 30;

void gt_progress_start(gt_progress *progress) {
  *progress = (gt_progress){.terminal = isatty(STDERR_FILENO), .told_at = gt_seconds()};
}

static size_t terminal_width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 8 ? size.ws_col : 80;
}

// Cuts a UTF-8 text to a number of characters.
static void cut(char *text, size_t width) {
  for (; *text; text++) {
    if (((unsigned char)*text & 0xC0) == 0x80) continue;
    if (width-- == 0) break;
  }
  *text = 0;
}

static void print_time_left(gt_buffer *line, double seconds) {
  if (seconds < 0) return;
  if (seconds < 60)
    gt_buffer_print(line, ", %.0f s left", seconds);
  else if (seconds < 5400)
    gt_buffer_print(line, ", %.0f min left", seconds / 60);
  else
    gt_buffer_print(line, ", %.1f h left", seconds / 3600);
}

static void describe(gt_buffer *line, const gt_tune_progress *now) {
  gt_buffer_print(line, "%zu/%zu", now->done, now->total);
  if (now->failed) gt_buffer_print(line, ", %zu failed", now->failed);
  if (now->done < now->total) print_time_left(line, now->seconds_left);
  if (!now->best) return;
  gt_buffer_print(line, ", best %s µs", gt_microseconds(now->best_us).text);
  if (now->default_us > 0 && now->best_us > 0)
    gt_buffer_print(line, " (speed-up %s)", gt_ratio(now->default_us, now->best_us, "").text);
  gt_buffer_print(line, " %s", now->best);
}

void gt_progress_text(gt_progress *progress, const char *text) {
  if (!progress->terminal) return;
  char *copy = gt_print("%s", text);
  cut(copy, terminal_width() - 1);
  fprintf(stderr, "\r\033[K%s", copy);
  fflush(stderr);
  free(copy);
  progress->drawn = true;
  progress->told_at = gt_seconds();
}

static void show_bar(gt_progress *progress, const gt_tune_progress *now) {
  gt_buffer line = {0};
  size_t full = now->total ? BAR * now->done / now->total : BAR;
  gt_buffer_print(&line, "[");
  for (size_t i = 0; i < BAR; i++) gt_buffer_print(&line, i < full ? "#" : "-");
  gt_buffer_print(&line, "] ");
  describe(&line, now);
  gt_progress_text(progress, line.data);
  gt_buffer_free(&line);
}

void gt_progress_show(gt_progress *progress, const gt_tune_progress *now) {
  double since = gt_seconds() - progress->told_at;
  bool last = now->done == now->total;
  if (progress->terminal) {
    if (last || !progress->drawn || since >= seconds_between_bars) show_bar(progress, now);
    return;
  }
  size_t step = now->total / LINES ? now->total / LINES : 1;
  bool due = now->done > progress->told_done && (last || now->done - progress->told_done >= step);
  if (!due && since < seconds_between_lines) return;
  gt_buffer line = {0};
  describe(&line, now);
  fprintf(stderr, "  %s\n", line.data);
  gt_buffer_free(&line);
  progress->told_at = gt_seconds();
  progress->told_done = now->done;
}

void gt_progress_clear(gt_progress *progress) {
  if (!progress->drawn) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  progress->drawn = false;
}
