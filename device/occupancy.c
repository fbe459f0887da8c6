#include "device/occupancy.h"

#include <stddef.h>
#include <string.h>

// The numbers and the rule are those of LLVM's AMDGPUBaseInfo.cpp (namespace IsaInfo: getMaxWavesPerEU,
// getTotalNumVGPRs, getVGPRAllocGranule, getLdsDwGranularity, getMaxWorkGroupsPerCU), and of AMD's "CDNA3
// Instruction Set Architecture" guide: since gfx90a each SIMD has 512 registers per lane, architectural and
// accumulation registers together, handed out in granules of 8 to at most 8 waves. Scalar registers are
// plenty: a wave takes at most 112 of 800, and only kernels with more than 96 would have to do with 7 waves.
enum { SIMDS = 4, WAVE = 64, VGPRS = 512, VGPR_GRANULE = 8, MOST_WAVES = 8, MOST_BARRIERS = 16 };

typedef struct {
  const char *arch;
  int64_t lds_bytes, lds_granule; // of a compute unit
} compute_unit;

static const compute_unit units[] = {
    {"gfx90a", 64 * 1024, 512}, {"gfx940", 64 * 1024, 512},   {"gfx941", 64 * 1024, 512},
    {"gfx942", 64 * 1024, 512}, {"gfx950", 160 * 1024, 1280},
};

static const compute_unit *find(const char *arch) {
  size_t length = strcspn(arch, ":");
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strlen(units[i].arch) == length && memcmp(units[i].arch, arch, length) == 0) return &units[i];
  return NULL;
}

static int64_t in_granules(int64_t amount, int64_t granule) {
  return (amount + granule - 1) / granule * granule;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

bool gt_occupancy_on(const char *arch, int vgprs, int64_t lds_bytes, int threads, gt_occupancy *occupancy) {
  const compute_unit *unit = find(arch);
  if (!unit || vgprs < 0 || lds_bytes < 0 || threads < 1) return false;
  int64_t waves = in_granules(threads, WAVE) / WAVE; // of a block
  int64_t fit = VGPRS / in_granules(vgprs > 0 ? vgprs : 1, VGPR_GRANULE);
  occupancy->most = MOST_WAVES;
  occupancy->by_vgprs = (int)least(fit, MOST_WAVES);

  // Blocks of a compute unit. A block of one wave needs none of the barriers.
  int64_t by_block = SIMDS * MOST_WAVES / waves;
  if (waves > 1) by_block = least(by_block, MOST_BARRIERS);
  int64_t by_lds = lds_bytes ? unit->lds_bytes / in_granules(lds_bytes, unit->lds_granule) : by_block;
  int64_t blocks = least(least(by_block, by_lds), SIMDS * occupancy->by_vgprs / waves);

  double per_block = (double)waves / SIMDS;
  occupancy->by_block = (double)by_block * per_block;
  occupancy->by_lds = lds_bytes ? (double)by_lds * per_block : MOST_WAVES;
  if (occupancy->by_lds > MOST_WAVES) occupancy->by_lds = MOST_WAVES;
  occupancy->waves = (double)blocks * per_block;
  return true;
}
