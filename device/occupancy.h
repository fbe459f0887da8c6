// How many waves of a kernel a compute unit of AMD's CDNA holds at once.
#ifndef GT_DEVICE_OCCUPANCY_H
#define GT_DEVICE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int most;        // waves per SIMD that the hardware has room for
  int by_vgprs;    // waves per SIMD that their registers leave room for
  double by_lds;   // the same of the blocks' shared memory,
  double by_block; // and of whole blocks of this size
  double waves;    // per SIMD, all of it together; 0 when not even one block fits
} gt_occupancy;

// For a kernel that takes `vgprs` vector registers per lane, accumulation registers included, and `lds_bytes`
// of LDS per block of `threads` threads. False when the rules of the architecture are not known here: they
// are for gfx90a, gfx940, gfx941, gfx942 and gfx950, with or without features ("gfx942:xnack-").
bool gt_occupancy_on(const char *arch, int vgprs, int64_t lds_bytes, int threads, gt_occupancy *occupancy);

#endif
