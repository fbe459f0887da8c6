// The parent's side of the worker processes: one that has the device, and those that compile for it. Starts
// them, sends requests, waits under time limits, and starts new ones after a crash or a hang.
#ifndef GT_TUNER_WORKSHOP_H
#define GT_TUNER_WORKSHOP_H

#include "base/buffer.h"
#include "base/status.h"
#include "cache/cache.h"
#include "device/device.h"
#include "generator/generator.h"
#include "generator/tensors.h"
#include "tuner/compilers.h"

typedef struct gt_workshop gt_workshop;

typedef struct {
  const char *program; // path of this executable; NULL: /proc/self/exe
  int compile_jobs;    // processes that compile, at most: 1 or more
  // Time limits of a worker's phases, from the phase's start.
  double compile_seconds; // also of opening a device and of preparing a problem
  double launch_seconds;
  double time_seconds; // also of comparing a result
} gt_workshop_options;

void gt_workshop_defaults(gt_workshop_options *options); // 1 job, 120 s, 20 s, 120 s

// For each of so many devices at work at the same time: its part of the CPUs that this process may use, less the
// one that the device itself wants; 1 to 16.
int gt_workshop_compile_jobs(int devices);

// A workshop is used by one thread at a time; several may be used at the same time.
//
// Starts a worker and opens `device` in it ("hip:0", "auto", …; NULL: a worker that only compiles). The
// worker runs `program --worker`, which is to call gt_worker_main(0, 1). It is killed when the calling thread
// ends.
gt_status gt_workshop_open(const char *device, const gt_workshop_options *options, gt_workshop **workshop,
                           gt_error *error);
void gt_workshop_close(gt_workshop *workshop); // ends the worker; harmless on NULL
const gt_fingerprint *gt_workshop_fingerprint(const gt_workshop *workshop);
const char *gt_workshop_device(const gt_workshop *workshop); // resolved name, "hip:0"
bool gt_workshop_executes(const gt_workshop *workshop);

// Makes sure that there is a worker with the device, after a failure that may have been the device's.
// GT_DEVICE_LOST when it does not open any more, or another one has its name now.
gt_status gt_workshop_check(gt_workshop *workshop, gt_error *error);

typedef struct {
  double tolerance; // relative spread of the last batches at which timing stops, 0.01
  double batch_us;  // a batch is doubled until it takes as long, 1000
  int min_batches, max_batches;
  double max_seconds; // of timing per trial
  bool warm;          // caches left warm between launches; default is cold
  double drop_us;     // > 0: what is slower than this is given up soon (tuner/timing.h)
} gt_timing_options;
void gt_timing_defaults(gt_timing_options *options);

// Prepares the problem on the device: inputs, float64 reference, result of `direct` (may be NULL). It is
// repeated by itself in a new worker after a crash. GT_OUT_OF_MEMORY when it does not fit.
gt_status gt_workshop_problem(gt_workshop *workshop, const gt_problem *problem, const gt_variant *direct,
                              gt_error *error);

// Begins with inputs and reference, and returns at once: gt_workshop_problem of the same problem waits for them, and
// tells what failed.
void gt_workshop_begin_problem(gt_workshop *workshop, const gt_problem *problem);

// What a user should know about the prepared problem, such as that only a part of it fits into memory; empty
// when there is nothing.
const char *gt_workshop_note(const gt_workshop *workshop);

// Where code objects are found that were compiled before, and kept. Borrowed; NULL: nowhere.
void gt_workshop_use_store(gt_workshop *workshop, gt_code_store *store);

// Sampling positions, in storage form, that the problems from now on are checked and timed with, instead of those of
// their class (0 bytes). They must be of the problems' size.
void gt_workshop_use_grid(gt_workshop *workshop, const void *grid, size_t bytes);

// Has a variant compiled while other things go on, after those that were asked for before. Where the device
// is the CPU that compilers run on, not while it has work: times would be those of both.
void gt_workshop_compile_ahead(gt_workshop *workshop, const gt_variant *variant);
// Takes a code object that is kept elsewhere as that of a variant, which needs no source then.
void gt_workshop_provide(gt_workshop *workshop, const gt_variant *variant, const void *code, size_t size);
// Waits for its code, or for what came of it (tuner/compilers.h).
gt_status gt_workshop_code(gt_workshop *workshop, const gt_variant *variant, const gt_compiled **compiled,
                           gt_error *error);
// Forgets what still waits for a compiler, and what failed: it would be compiled once more.
void gt_workshop_forget(gt_workshop *workshop);
// Whether gt_workshop_begin_trial would not have to wait for anything.
bool gt_workshop_is_ready(const gt_workshop *workshop, const gt_variant *variant);
gt_compilers_counts gt_workshop_compile_counts(const gt_workshop *workshop);

// Checks (unless the device executes nothing, or check is false: for `stream`) and times one variant, whose
// code is waited for first. Whatever happens to the workers becomes the trial's outcome; the status is not
// GT_OK only when no worker can be had any more or on interruption (GT_INTERRUPTED). The caller frees *trial.
// A trial whose worker was stopped or killed from outside, or ended before it came to the variant, is made once more.
// `begin` returns when the device
// has its work: there is time for other things then, above all for gt_workshop_compile_ahead. After its
// success `end` follows, or give_up, which ends the worker.
gt_status gt_workshop_begin_trial(gt_workshop *workshop, const gt_variant *variant, bool check,
                                  const gt_timing_options *timing, gt_error *error);
gt_status gt_workshop_end_trial(gt_workshop *workshop, gt_trial *trial, gt_error *error);
void gt_workshop_give_up_trial(gt_workshop *workshop);
gt_status gt_workshop_trial(gt_workshop *workshop, const gt_variant *variant, bool check,
                            const gt_timing_options *timing, gt_trial *trial, gt_error *error); // both

// Seconds in which the device had work, in trials and retimings so far: launching, waiting for it, reading
// results from it, timing.
double gt_workshop_device_seconds(const gt_workshop *workshop);

// Times several variants that were tried before once more, interleaved, in the same worker; medians and
// spreads in `trials`.
gt_status gt_workshop_retime(gt_workshop *workshop, const gt_variant *variants, size_t count,
                             const gt_timing_options *timing, gt_trial *trials, gt_error *error);

// Checks one variant against explicit expected results (`verify`): runs it on what is given and compares. All
// values as doubles in NCHW order, by gt_tensor_kind; tolerances as tests/oracle/README.md states them. outcome
// and message say what happened.
typedef struct {
  const gt_problem *problem;
  const double *values[GT_TENSORS]; // exactly representable in the problem's data type; and the right results
  const double *term[GT_TENSORS];   // per element of a result, the largest |term| summed into it
} gt_case;
gt_status gt_workshop_verify(gt_workshop *workshop, const gt_variant *variant, const gt_case *which,
                             gt_outcome *outcome, gt_buffer *message, gt_error *error);

// Runs a variant's code object once on the device and counts its traffic with global memory. GT_UNSUPPORTED
// where the device does not count, as real ones do not.
gt_status gt_workshop_traffic(gt_workshop *workshop, const gt_variant *variant, const gt_problem *problem,
                              const gt_buffer *code, gt_traffic *traffic, gt_error *error);

// Compiles in the first worker, for any architecture that its compiler knows. For `generate --emit object`.
gt_status gt_workshop_compile(gt_workshop *workshop, const char *backend, const char *arch,
                              const char *source, gt_buffer *code, gt_buffer *log, gt_error *error);

// Makes the call in progress of every workshop that is open, or its next one, return GT_INTERRUPTED. Safe in a
// signal handler.
void gt_workshop_interrupt(void);

#endif
