// What identifies a device, and what limits the kernels that run on it.
#ifndef GT_DEVICE_FINGERPRINT_H
#define GT_DEVICE_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Which target header and which language a kernel is rendered for.
typedef enum { GT_TARGET_HIP, GT_TARGET_CUDA, GT_TARGET_OPENCL } gt_target;
const char *gt_target_name(gt_target target); // "hip", "cuda", "opencl"
bool gt_target_from_name(const char *name, gt_target *target);

typedef struct {
  // The model: what tuned configurations are kept for.
  char backend[16]; // "hip", "cuda", "opencl", "recorded"
  char name[128];   // marketing name, "AMD Instinct MI300X"
  char arch[128];   // "gfx942:sramecc+:xnack-", "sm_90", "cpu-…"
  int compute_units;
  // This very device and its software.
  uint64_t memory_bytes;
  char pci_id[32]; // "0000:03:00.0", empty where there is none
  char driver[128], runtime[128], compiler[128];
  // Limits that kernels are generated within.
  gt_target target;
  int wave_size; // 64, 32; 1 on a CPU
  int max_threads_per_block;
  int64_t lds_bytes_per_block;
  int64_t last_level_cache_bytes; // 256 MiB on MI300X
  bool is_cpu;
} gt_fingerprint;

// What a device's sensors say; 0 where the platform does not tell.
typedef struct {
  int temperature_c;               // °C, of the hottest place that is told
  int clock_mhz, memory_clock_mhz; // MHz
} gt_readings;

// The fingerprint of a device of which only the architecture is known: what `generate --arch` renders for.
// False when the architecture is not known: gfx90a, gfx942, gfx950, … with optional :feature± suffixes; sm_70
// … sm_121.
bool gt_fingerprint_for_arch(const char *arch, gt_fingerprint *fingerprint);

#endif
