#include "tuner/cost.h"

#include <math.h>

// Round numbers between an MI300X (304 compute units, 5.3 TB/s, 2.1 GHz) and an H200 (132, 4.8 TB/s, 1.98 GHz): they
// need not be right, since costs are only compared. Per compute unit where a unit is named.
#define BYTES_PER_US 33e3       // of memory
#define LATENCY_US 1.0          // of a load that misses the caches
#define OPERATIONS_PER_US 80e3  // of all lanes: some 128 lanes at 2 GHz, a third of which is put to use
#define LOAD_OPERATIONS 2.0     // that a load counts as, beside its address
#define BARRIER_US 0.3
#define LAUNCH_US 5.0
#define REREAD_SHARE 0.2        // of what is read again, that no cache has
#define TAIL_SHARE 0.3          // of the last round's idle units, that no other block's memory time hides
enum { RESIDENT_THREADS = 2048, RESIDENT_BLOCKS = 32, LEAST_REGISTERS = 24 };

// Registers of 32 bits of a compute unit: four SIMDs of 64 lanes with 512 each on CDNA, whose waves are of 64 lanes.
static double registers_of(const gt_fingerprint *device) {
  return device->wave_size == 64 ? 131072 : 65536;
}

// Blocks that a compute unit holds at once.
static double resident_blocks(const gt_work *work, double threads, const gt_fingerprint *device) {
  double blocks = fmin(RESIDENT_BLOCKS, floor(RESIDENT_THREADS / threads));
  blocks = fmin(blocks, floor(registers_of(device) / (fmax(LEAST_REGISTERS, work->registers) * threads)));
  if (work->shared_bytes > 0)
    blocks = fmin(blocks, floor((double)device->lds_bytes_per_block / work->shared_bytes));
  return fmax(1, blocks);
}

double gt_cost(const gt_work *work, const gt_problem *problem, const gt_fingerprint *device) {
  uint32_t grid[3];
  double outer = (double)gt_problem_outer(problem);
  if (!work->known || device->is_cpu || device->compute_units < 1 ||
      gt_launch_grid(&work->launch, gt_problem_outer(problem), grid, NULL) != GT_OK)
    return NAN;
  const uint32_t *block = work->launch.block;
  double threads = (double)block[0] * block[1] * block[2];
  double blocks = fmax(1, (double)grid[0] * grid[1] * grid[2]);
  double units = device->compute_units, held = units * resident_blocks(work, threads, device);

  // Memory: all of it, at the bandwidth that the loads under way can keep busy (Little's law).
  double element = (double)gt_dtype_bytes(problem->dtype);
  double bytes = element * (double)gt_problem_in_elements(problem) + 2 * outer * (double)work->workspace_bytes +
                 element * (double)gt_problem_out_elements(problem) * (1 + REREAD_SHARE * (work->rereads - 1));
  double under_way = fmin(blocks, held) * threads * work->flight * work->load_bytes;
  double memory = bytes / fmin(units * BYTES_PER_US, under_way / LATENCY_US);
  // Arithmetic, by the units that have work.
  double operations = blocks * threads * (work->operations + LOAD_OPERATIONS * work->loads);
  double arithmetic = operations / (OPERATIONS_PER_US * fmin(units, blocks));
  // One thread's way, for as many rounds of blocks as there are.
  double rounds = fmax(1, blocks / held);
  double way = rounds * (work->loads / work->flight * LATENCY_US + work->steps * BARRIER_US);
  // The last round is not full.
  double tail = 1 + TAIL_SHARE * (ceil(rounds) / rounds - 1);
  return log(fmax(memory, fmax(arithmetic, way)) * tail + LAUNCH_US * work->launches);
}
