// The imaginary GPU of tests that need a fingerprint and no device.
#ifndef GT_TESTS_GPU_FIXTURE_H
#define GT_TESTS_GPU_FIXTURE_H

#include "device/fingerprint.h"

static inline gt_fingerprint test_gpu(void) {
  return (gt_fingerprint){.backend = "recorded",
                          .name = "Test GPU",
                          .arch = "gfx942:sramecc+:xnack-",
                          .compute_units = 304,
                          .memory_bytes = UINT64_C(192) << 30,
                          .pci_id = "0000:03:00.0",
                          .driver = "driver 1",
                          .runtime = "runtime 1",
                          .compiler = "compiler 1"};
}

#endif
