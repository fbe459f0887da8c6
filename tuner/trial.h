// What a worker does with its device: prepare a problem, and check and time compiled variants of it.
#ifndef GT_TUNER_TRIAL_H
#define GT_TUNER_TRIAL_H

#include "cache/cache.h"
#include "tuner/judge.h"
#include "tuner/workshop.h"

typedef struct {
  gt_open_device open; // zeroed while no device is open
  bool prepared;       // bench and expected are those of a problem
  gt_bench bench;
  gt_expected expected;
  gt_judge judge; // of its results
  gt_loaded used; // what the last trial left to be released
  bool broken;    // the device reported a failed launch: nothing after it can be trusted
  void (*progress)(void *context, const char *phase);
  void *context;
} gt_session;

typedef struct {
  gt_status status; // GT_OK exactly when outcome is ok
  gt_outcome outcome;
  gt_buffer message;
  gt_samples samples;
  gt_kernel_info info;
  double device_s; // launching, waiting for the device, reading from it and timing; not loading or comparing
  gt_readings readings; // right after timing
  bool checked;
} gt_result;
void gt_result_free(gt_result *result); // harmless on a zeroed one

// A variant and its code object, both borrowed.
typedef struct {
  const gt_variant *variant; // without source
  const void *code;
  size_t size;
} gt_built;

// Makes the problem's buffers and reference, replacing those of an earlier problem. `grid`: sampling positions
// in storage form, or NULL for those of the problem's class. `note` receives what the user should know about it.
gt_status gt_session_problem(gt_session *session, const gt_problem *problem, const void *grid,
                             gt_buffer *note, gt_error *error);

// Takes the plain family's results (gt_plain_family), if they are right, as what all of the results are compared
// with. On a device that
// executes nothing it does nothing.
gt_status gt_session_direct(gt_session *session, const gt_built *direct, gt_result *result, gt_buffer *note,
                            gt_error *error);
void gt_session_close(gt_session *session); // the problem and the device

// Failures are the result's outcome. `timing` NULL: only checks.
void gt_session_trial(gt_session *session, const gt_built *built, bool check, const gt_timing_options *timing,
                      gt_result *result);
// Releases what the last trial left: to be called when its result is told, since whoever is told has something to do
// before the next trial.
void gt_session_settle(gt_session *session);

// Times variants in turn, a batch each per round. `results`: one per variant.
void gt_session_retime(gt_session *session, const gt_built *variants, size_t count,
                       const gt_timing_options *timing, gt_result *results);

// Runs a variant on values from elsewhere and compares: doubles in NCHW order, per tensor in the order of
// gt_problem_tensors, the right results among them; `term`: per result.
void gt_session_verify(gt_session *session, const gt_problem *problem, const gt_built *built,
                       const double *const *values, const double *const *term, gt_result *result);

// Counts the traffic of one run of a variant's code object, on zeros (no kernel here moves less or more for its
// gradients' values) and, of a grid operator, the grid of the problem's class. GT_UNSUPPORTED, before anything is allocated, where the device does not count.
gt_status gt_session_traffic(gt_session *session, const gt_problem *problem, const gt_built *built,
                             gt_traffic *traffic, gt_error *error);

#endif
