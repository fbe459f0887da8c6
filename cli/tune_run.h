// A tuning run: problems as the unit of work, devices that take them. Devices of one model with the same software
// are a pool, whose next free one takes the next problem; every problem is tuned once in each pool. Each device has a
// thread, with a workshop, a generator and a connection to the cache of its own; what is shared is under one lock.
#ifndef GT_CLI_TUNE_RUN_H
#define GT_CLI_TUNE_RUN_H

#include <pthread.h>

#include "cache/code_store.h"
#include "cli/progress.h"
#include "cli/suite.h"
#include "cli/tune_devices.h"
#include "tuner/tune.h"

typedef struct gt_tune_run gt_tune_run;
typedef struct gt_tune_device gt_tune_device;

// One problem on one model.
typedef struct {
  const gt_problem *problem;
  int64_t calls; // 0: not told
  char text[GT_PROBLEM_TEXT];
  size_t pool;
  enum { GT_ROW_WAITING, GT_ROW_RUNNING, GT_ROW_DONE } state;
  const gt_tune_device *home;   // has trials of it in the cache, which on another device would be repeated; NULL: none
  const gt_tune_device *device; // that tunes it or has done so
  bool stale;                   // its stored winner is
  int losses;                   // devices that were lost over it
  size_t number;                // in the order of beginning, from 1
  double seconds;               // that it took
  gt_tuned tuned;
  char *best; // so far, while it runs
  double best_us, default_us, stream_us;
  gt_status status;
  char message[1024]; // of a status that is not GT_OK
} gt_tune_row;

struct gt_tune_device {
  gt_tune_run *run;
  char *name; // as reproducing lines have it
  gt_fingerprint fingerprint;
  size_t pool;     // SIZE_MAX: it did not open, and has no part in the run
  size_t problems; // done
  bool opened, lost;
  gt_error error;  // of opening, or how it was lost
  double began, seconds, device_seconds; // at work; in which the device had work
  // Of its thread.
  pthread_t thread;
  bool started;
  int compile_jobs;
  gt_workshop *workshop;
  gt_generator *generator;
  gt_cache *cache;
  gt_code_store *store;
  // What it is at, for those who show it.
  gt_tune_row *row;
  size_t told_failed, told_done; // failures that were told one by one; trials when the last plain line was
  size_t told_class;             // of whose trials told_done is
  double told_at, told_begin;
  double seconds_left; // of its problem, < 0 unknown
  char *line;
};

struct gt_tune_run {
  // Given by the caller.
  const gt_suite *suite;
  gt_tune_options tune;
  gt_workshop_options limits;
  int compile_jobs; // of all devices together; 0: by the CPUs
  bool quiet, json_lines;
  const gt_buffer *grid; // sampling positions of the suite's one problem, in storage form; NULL: those of its class

  char *cache_path; // NULL: warm times are not kept
  gt_tune_device *devices;
  size_t n_devices, n_pools;
  gt_tune_row *rows; // by pools, in the suite's order
  size_t n_rows, begun;
  double began;
  gt_progress progress;
  gt_status worst; // how the run ended

  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_mutex_t turn; // of the cache's writers
  bool go, stop;        // devices may begin; are to end
};

// Opens the devices, each in its thread, and makes rows and pools of them. A failure of any ends it, except for
// names that were found by `all`: what does not open is then left out with a complaint.
gt_status gt_tune_run_open(gt_tune_run *run, const gt_device_names *names, gt_error *error);
// Gives each device a generator and connections to the cache at `path`, which is there, and tunes everything. With
// `store`: also to the code store beside it. *error and a status other than GT_OK: nothing was begun. run->worst
// says how it ended: GT_INTERRUPTED or what ended it before all was done; else the last failure of a problem, or
// GT_DEVICE_LOST.
gt_status gt_tune_run_all(gt_tune_run *run, const char *path, bool store, gt_error *error);
void gt_tune_run_close(gt_tune_run *run); // ends threads and workers; harmless on a zeroed one

#endif
