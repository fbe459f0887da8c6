#include "tuner/cost.h"

#include <math.h>

// Round numbers between an MI300X (304 compute units, 5.3 TB/s, 2.1 GHz) and an H200 (132, 4.8 TB/s, 1.98 GHz): they
// need not be right, since costs are only compared. Per compute unit where a unit is named.
#define BYTES_PER_US 33e3        // of memory
#define CACHED_BYTES_PER_US 50e3 // of the last-level cache, in sectors
#define SECTOR_BYTES 32.0
#define LATENCY_US 1.0           // of a load that misses the caches
#define OPERATIONS_PER_US 80e3   // of all lanes: some 128 lanes at 2 GHz, a third of which is put to use
#define LOAD_OPERATIONS 2.0      // that a load counts as, beside its address
#define BARRIER_US 0.3
#define LAUNCH_US 5.0            // with some of its time, for a launch that nothing more is told of
#define NEXT_LAUNCH_US 2.5       // of a launch behind another, beside its own time
#define REREAD_SHARE 0.2         // of what is read again, that no cache has
#define TAIL_SHARE 0.3           // of the last round's idle units, that no other block's memory time hides
enum { RESIDENT_THREADS = 2048, RESIDENT_BLOCKS = 32, LEAST_REGISTERS = 24 };

// Registers of 32 bits of a compute unit: four SIMDs of 64 lanes with 512 each on CDNA, whose waves are of 64 lanes.
static double registers_of(const gt_fingerprint *device) {
  return device->wave_size == 64 ? 131072 : 65536;
}

// Shared memory of a compute unit, bytes: on CDNA what one block may have; on NVIDIA GPUs of data centres 164 to 228 KiB,
// of which a block declares 48 at most. (Costs of separable operators put recordings in order better with these 48.)
static double shared_of(const gt_work *work, const gt_fingerprint *device) {
  double of_block = (double)device->lds_bytes_per_block;
  return work->each && device->wave_size == 32 ? fmax(200 << 10, of_block) : of_block;
}

// Blocks that a compute unit holds at once.
static double resident_blocks(const gt_work *work, double threads, const gt_fingerprint *device) {
  double blocks = fmin(RESIDENT_BLOCKS, floor(RESIDENT_THREADS / threads));
  blocks = fmin(blocks, floor(registers_of(device) / (fmax(LEAST_REGISTERS, work->registers) * threads)));
  if (work->shared_bytes > 0) blocks = fmin(blocks, floor(shared_of(work, device) / work->shared_bytes));
  return fmax(1, blocks);
}

// A launch, without what starting it takes: `bytes` of memory and `cached` bytes of the last-level cache.
// NaN: it cannot be launched.
static double launch_us(const gt_work *work, int64_t outer, double bytes, double cached,
                        const gt_fingerprint *device) {
  uint32_t grid[3];
  if (gt_launch_grid(&work->launch, outer, grid, NULL) != GT_OK) return NAN;
  const uint32_t *block = work->launch.block;
  double threads = (double)block[0] * block[1] * block[2];
  double blocks = fmax(1, (double)grid[0] * grid[1] * grid[2]);
  double units = device->compute_units, held = units * resident_blocks(work, threads, device);

  // Memory: all of it, at the bandwidth that the loads under way can keep busy (Little's law).
  double under_way = fmin(blocks, held) * threads * work->flight;
  double memory =
      bytes / (work->each ? units * BYTES_PER_US
                          : fmin(units * BYTES_PER_US, under_way * work->load_bytes / LATENCY_US));
  double caches = cached / fmin(units * CACHED_BYTES_PER_US,
                                under_way * fmax(SECTOR_BYTES, work->load_bytes) / LATENCY_US);
  // Arithmetic, by the units that have work.
  double operations = blocks * threads * (work->operations + LOAD_OPERATIONS * work->loads);
  double arithmetic = operations / (OPERATIONS_PER_US * fmin(units, blocks));
  // One thread's way, for as many rounds of blocks as there are.
  double rounds = fmax(1, blocks / held);
  double way = rounds * (work->loads / work->flight * LATENCY_US + work->steps * BARRIER_US);
  // The last round is not full.
  double tail = 1 + TAIL_SHARE * (ceil(rounds) / rounds - 1);
  return fmax(fmax(memory, caches), fmax(arithmetic, way)) * tail;
}

double gt_cost(const gt_work *work, const gt_problem *problem, const gt_fingerprint *device) {
  int64_t outer = gt_problem_outer(problem);
  double images = (double)outer, element = (double)gt_dtype_bytes(problem->dtype);
  if (!work->known || device->is_cpu || device->compute_units < 1) return NAN;
  if (!work->each) {
    double bytes =
        element * (double)gt_problem_in_elements(problem) + 2 * images * (double)work->workspace_bytes +
        element * (double)gt_problem_out_elements(problem) * (1 + REREAD_SHARE * (work->rereads - 1));
    return log(launch_us(work, outer, bytes, 0, device) + LAUNCH_US * work->launches);
  }
  double us = LAUNCH_US;
  for (int i = 0; i < work->launches; i++) {
    const gt_work *one = i ? &work->rest[i - 1] : work;
    us += launch_us(one, outer, images * one->bytes, images * one->cached_bytes, device) +
          (i ? NEXT_LAUNCH_US : 0);
  }
  return log(us);
}
