#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"

static const double seconds_between = 0.1;

void gt_progress_start(gt_progress *progress) {
  *progress = (gt_progress){.terminal = isatty(STDERR_FILENO), .told_at = gt_seconds()};
}

static void measure(size_t *width, size_t *height) {
  struct winsize size;
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  *width = known && size.ws_col > 8 ? size.ws_col : 80;
  *height = known && size.ws_row > 2 ? size.ws_row : 24;
}

// Bytes of the first `width` characters of a UTF-8 text.
static size_t cut(const char *text, size_t width) {
  size_t bytes = 0;
  for (; text[bytes]; bytes++) {
    if (((unsigned char)text[bytes] & 0xC0) == 0x80) continue;
    if (width-- == 0) break;
  }
  return bytes;
}

static void go_to_first(const gt_progress *progress) {
  fputs("\r", stderr);
  if (progress->drawn > 1) fprintf(stderr, "\033[%zuA", progress->drawn - 1); // lines up
}

void gt_progress_lines(gt_progress *progress, const char *const *texts, size_t count) {
  if (!progress->terminal || !count) return;
  size_t width, height;
  measure(&width, &height);
  if (count >= height) count = height - 1;
  go_to_first(progress);
  if (progress->drawn > count) fputs("\033[J", stderr); // clears all below
  for (size_t i = 0; i < count; i++)
    fprintf(stderr, "%.*s\033[K%s", (int)cut(texts[i], width - 1), texts[i], i + 1 < count ? "\n" : "");
  fflush(stderr);
  progress->drawn = count;
  progress->told_at = gt_seconds();
}

void gt_progress_text(gt_progress *progress, const char *text) {
  gt_progress_lines(progress, &text, 1);
}

void gt_progress_clear(gt_progress *progress) {
  if (!progress->drawn) return;
  go_to_first(progress);
  fputs("\033[J", stderr);
  fflush(stderr);
  progress->drawn = 0;
}

bool gt_progress_due(const gt_progress *progress) {
  return progress->terminal && (!progress->drawn || gt_seconds() - progress->told_at >= seconds_between);
}
