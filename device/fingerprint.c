#include "device/fingerprint.h"

#include <stdio.h>
#include <string.h>

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)

static const char *const target_names[] = {
    [GT_TARGET_HIP] = "hip", [GT_TARGET_CUDA] = "cuda", [GT_TARGET_OPENCL] = "opencl"};
enum { TARGET_COUNT = sizeof target_names / sizeof target_names[0] };

const char *gt_target_name(gt_target target) {
  return (unsigned)target < TARGET_COUNT ? target_names[target] : "unknown";
}

bool gt_target_from_name(const char *name, gt_target *target) {
  for (int i = 0; name && i < TARGET_COUNT; i++) {
    if (strcmp(name, target_names[i]) != 0) continue;
    *target = (gt_target)i;
    return true;
  }
  return false;
}

typedef struct {
  const char *name;
  int compute_units; // of the largest common product, as its runtime counts them (RDNA: work group
                     // processors)
  int wave_size;
  int64_t lds_bytes; // what a kernel may declare statically
  int64_t last_level_cache_bytes;
  bool sramecc, xnack; // the features that a target id may carry
} architecture;

// Sources: LLVM's "User Guide for AMDGPU Backend" (processors and their features) and the makers' data
// sheets. The last level of the cache is the Infinity Cache where there is one.
static const architecture amd[] = {
    {"gfx900", 64, 64, 64 * KIB, 4 * MIB, false, true},
    {"gfx906", 60, 64, 64 * KIB, 4 * MIB, true, true},
    {"gfx908", 120, 64, 64 * KIB, 8 * MIB, true, true},
    {"gfx90a", 110, 64, 64 * KIB, 8 * MIB, true, true},
    {"gfx940", 228, 64, 64 * KIB, 256 * MIB, true, true},
    {"gfx941", 304, 64, 64 * KIB, 256 * MIB, true, true},
    {"gfx942", 304, 64, 64 * KIB, 256 * MIB, true, true},
    {"gfx950", 256, 64, 160 * KIB, 256 * MIB, true, true},
    {"gfx1010", 20, 32, 64 * KIB, 4 * MIB, false, true},
    {"gfx1011", 20, 32, 64 * KIB, 4 * MIB, false, true},
    {"gfx1012", 12, 32, 64 * KIB, 2 * MIB, false, true},
    {"gfx1030", 40, 32, 64 * KIB, 128 * MIB, false, false},
    {"gfx1031", 20, 32, 64 * KIB, 96 * MIB, false, false},
    {"gfx1032", 16, 32, 64 * KIB, 32 * MIB, false, false},
    {"gfx1100", 48, 32, 64 * KIB, 96 * MIB, false, false},
    {"gfx1101", 30, 32, 64 * KIB, 64 * MIB, false, false},
    {"gfx1102", 16, 32, 64 * KIB, 32 * MIB, false, false},
    {"gfx1103", 6, 32, 64 * KIB, 2 * MIB, false, false},
    {"gfx1150", 8, 32, 64 * KIB, 2 * MIB, false, false},
    {"gfx1151", 20, 32, 64 * KIB, 32 * MIB, false, false},
    {"gfx1200", 16, 32, 64 * KIB, 32 * MIB, false, false},
    {"gfx1201", 32, 32, 64 * KIB, 64 * MIB, false, false},
};

static const architecture nvidia[] = {
    {"sm_50", 16, 32, 48 * KIB, 2 * MIB, false, false},
    {"sm_52", 24, 32, 48 * KIB, 3 * MIB, false, false},
    {"sm_53", 2, 32, 48 * KIB, 256 * KIB, false, false},
    {"sm_60", 56, 32, 48 * KIB, 4 * MIB, false, false},
    {"sm_61", 28, 32, 48 * KIB, 3 * MIB, false, false},
    {"sm_62", 2, 32, 48 * KIB, 512 * KIB, false, false},
    {"sm_70", 80, 32, 48 * KIB, 6 * MIB, false, false},
    {"sm_72", 8, 32, 48 * KIB, 512 * KIB, false, false},
    {"sm_75", 40, 32, 48 * KIB, 4 * MIB, false, false},
    {"sm_80", 108, 32, 48 * KIB, 40 * MIB, false, false},
    {"sm_86", 84, 32, 48 * KIB, 6 * MIB, false, false},
    {"sm_87", 16, 32, 48 * KIB, 4 * MIB, false, false},
    {"sm_89", 142, 32, 48 * KIB, 96 * MIB, false, false},
    {"sm_90", 132, 32, 48 * KIB, 50 * MIB, false, false},
    {"sm_100", 148, 32, 48 * KIB, 126 * MIB, false, false},
    {"sm_103", 148, 32, 48 * KIB, 126 * MIB, false, false},
    {"sm_110", 20, 32, 48 * KIB, 32 * MIB, false, false},
    {"sm_120", 170, 32, 48 * KIB, 96 * MIB, false, false},
    {"sm_121", 48, 32, 48 * KIB, 24 * MIB, false, false},
};

static const architecture *find(const architecture *list, size_t count, const char *name, size_t length) {
  for (size_t i = 0; i < count; i++)
    if (strlen(list[i].name) == length && memcmp(list[i].name, name, length) == 0) return &list[i];
  return NULL;
}

// Whether `text` is a sequence of ":sramecc+"-like features that the architecture has, each at most once.
static bool features_are_known(const architecture *arch, const char *text) {
  bool sramecc = arch->sramecc, xnack = arch->xnack; // still allowed
  while (*text) {
    bool *allowed = strncmp(text, ":sramecc", 8) == 0 ? &sramecc
                    : strncmp(text, ":xnack", 6) == 0 ? &xnack
                                                      : NULL;
    if (!allowed || !*allowed) return false;
    *allowed = false;
    text += allowed == &sramecc ? 8 : 6;
    if (*text != '+' && *text != '-') return false;
    text++;
  }
  return true;
}

bool gt_fingerprint_for_arch(const char *arch, gt_fingerprint *fingerprint) {
  if (!arch || strlen(arch) >= sizeof fingerprint->arch) return false;
  size_t length = strcspn(arch, ":");
  gt_target target = GT_TARGET_HIP;
  const architecture *found = find(amd, sizeof amd / sizeof amd[0], arch, length);
  if (!found) {
    target = GT_TARGET_CUDA;
    found = find(nvidia, sizeof nvidia / sizeof nvidia[0], arch, length);
  }
  if (!found || !features_are_known(found, arch + length)) return false;

  *fingerprint = (gt_fingerprint){
      .compute_units = found->compute_units,
      .target = target,
      .wave_size = found->wave_size,
      .max_threads_per_block = 1024,
      .lds_bytes_per_block = found->lds_bytes,
      .last_level_cache_bytes = found->last_level_cache_bytes,
  };
  snprintf(fingerprint->backend, sizeof fingerprint->backend, "%s", gt_target_name(target));
  snprintf(fingerprint->name, sizeof fingerprint->name, "%s (architecture only)", found->name);
  memcpy(fingerprint->arch, arch, strlen(arch) + 1);
  return true;
}
