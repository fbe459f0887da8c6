// The value of tuning: how much time programs save that call each problem as often as the suite says.
#ifndef GT_CLI_TUNE_VALUE_H
#define GT_CLI_TUNE_VALUE_H

#include "cli/tune_run.h"

typedef struct {
  const gt_tune_row *row;
  double untuned_us, saved_us; // all calls together; untuned: by the default by rule (tuner/tune.h)
} gt_tune_saving;

typedef struct {
  gt_tune_saving *list; // what saves most first
  size_t count;
  double untuned_us, saved_us; // of all
  size_t left_out;             // problems without calls, without a winner, or whose default was not timed
} gt_tune_value;

// Of a pool's problems. Empty when the suite tells no calls.
gt_tune_value gt_tune_value_of(const gt_tune_run *run, size_t pool);
void gt_tune_value_free(gt_tune_value *value);

#endif
