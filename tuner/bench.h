// A problem on a device: its buffers and its launches. Lives in the worker.
//
// Caches are cold because inputs and outputs rotate: there are as many sets of tensors ("slots") as move twice
// the last-level cache in one round, and every launch sequence takes the next one. All slots hold the same
// inputs, so that any of them gives the same results.
//
// A kernel that is shorter than what the host needs for a launch (some 3 µs) would be timed as that. So where
// the back end has graphs, batches of short launches are replays of graphs: each has the launch sequences of
// some of the slots, all of them together have every slot, and they take turns as the slots do.
#ifndef GT_TUNER_BENCH_H
#define GT_TUNER_BENCH_H

#include "device/device.h"
#include "generator/tensors.h"
#include "generator/variant.h"
#include "tuner/guard.h"
#include "tuner/storage.h"
#include "tuner/timing.h"

typedef struct {
  gt_open_device *open; // borrowed
  gt_problem problem;
  int64_t outer; // of the buffers: less than the problem's when that does not fit
  int n_tensors, n_inputs;
  gt_tensor tensors[GT_TENSORS]; // gt_problem_tensors: n_inputs of them are read, the others are results
  void *grid;                    // sampling positions of all images, in storage form; NULL where there are none
  int slots;
  int next_slot;
  bool no_graphs; // a capture failed: batches are plain launches from then on
  gt_guarded buffers[GT_TENSORS]; // one per tensor
} gt_bench;

// What a bench for a problem has without a device: sizes, and the grid (unless `grid` is NULL: gt_positions_make,
// else a copy). To be closed.
void gt_bench_describe(const gt_problem *problem, const void *grid, gt_bench *bench);

// Makes the buffers and fills those that are read: with `values` (a whole tensor in storage form each, dense, in
// their order; one slot) or, where that is NULL, with gt_inputs, and the grid as gt_bench_describe does. Gaps of a strided grad_output hold NaNs, so that a kernel that
// counts what it reads there gives a wrong result. GT_OUT_OF_MEMORY, with sizes, when not even one outer
// index fits. On a device that executes nothing there are no buffers.
gt_status gt_bench_open(gt_open_device *open, const gt_problem *problem, const void *const *values,
                        const void *grid, gt_bench *bench, gt_error *error);
void gt_bench_close(gt_bench *bench); // harmless on a zeroed bench

int64_t gt_bench_bytes(const gt_bench *bench, int tensor); // of a tensor, gaps not counted
int64_t gt_bench_result_bytes(const gt_bench *bench);      // of all results

// A compiled variant, ready to launch on a bench.
typedef struct {
  gt_bench *bench; // borrowed
  gt_module *module;
  int n_launches;
  gt_kernel *kernels[GT_MAX_LAUNCHES];
  uint32_t grid[GT_MAX_LAUNCHES][3], block[GT_MAX_LAUNCHES][3];
  gt_kernel_info info; // the largest of its kernels' needs
  gt_guarded workspace;
  bool warm; // stay on slot 0; to be set before the first batch

  // Of the batches so far: their last count and time, and whether batches of that count are replays.
  int count;
  double sequence_us; // per launch sequence
  bool replays;
  gt_graph **graphs; // each NULL until a batch needs it
  int n_graphs;
} gt_loaded;
gt_status gt_loaded_open(gt_bench *bench, const gt_variant *variant, const void *code, size_t size,
                         gt_loaded *loaded, gt_error *error);
void gt_loaded_close(gt_loaded *loaded); // harmless on a zeroed one

// All launches of the variant, once, on a slot. Asynchronous.
gt_status gt_loaded_launch(gt_loaded *loaded, int slot, gt_error *error);

// Poisons output and workspace, launches on a slot, waits, and looks at the canaries.
gt_status gt_loaded_run(gt_loaded *loaded, int slot, uint32_t poison, bool *intact, gt_buffer *what,
                        gt_error *error);

// Counts the traffic of one launch sequence on slot 0. GT_UNSUPPORTED where the device does not count.
gt_status gt_loaded_traffic(gt_loaded *loaded, gt_traffic *traffic, gt_error *error);

// gt_batch: `context` is a gt_loaded. A batch of replays is rounded up to whole graphs; its time is that of
// `count` all the same. A series of batches of one count is launched in one way, whatever their times.
gt_status gt_loaded_batch(void *context, int count, double *us, gt_error *error);

#endif
