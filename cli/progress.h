// How far a tuning run is: a bar that is redrawn on a terminal, plain lines elsewhere. Written to standard
// error.
#ifndef GT_CLI_PROGRESS_H
#define GT_CLI_PROGRESS_H

#include "tuner/tune.h"

typedef struct {
  bool terminal;
  bool drawn;         // a bar is on the current line
  double told_at;     // gt_seconds() of the last bar or line
  size_t told_done;   // trials done when it was written
  size_t told_failed; // failures that were told one by one
} gt_progress;

void gt_progress_start(gt_progress *progress); // before each problem
void gt_progress_show(gt_progress *progress, const gt_tune_progress *now);
// Draws any other text as the current line, on a terminal only.
void gt_progress_text(gt_progress *progress, const char *text);
// Makes the current line free for something else to be printed.
void gt_progress_clear(gt_progress *progress);

#endif
