// The last lines of a terminal, drawn again and again while something runs. Written to standard error; nothing where
// that is no terminal.
#ifndef GT_CLI_PROGRESS_H
#define GT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  bool terminal;
  size_t drawn;   // lines
  double told_at; // gt_seconds() of the last drawing
} gt_progress;

void gt_progress_start(gt_progress *progress);
// Draws texts as the last lines, cut to the terminal's width, and as many of them as it has room for.
void gt_progress_lines(gt_progress *progress, const char *const *texts, size_t count);
void gt_progress_text(gt_progress *progress, const char *text); // one
// Takes the lines away for something else to be printed.
void gt_progress_clear(gt_progress *progress);
// Whether it is time to draw anew: often enough to look alive.
bool gt_progress_due(const gt_progress *progress);

#endif
