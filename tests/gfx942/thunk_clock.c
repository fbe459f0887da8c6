// The emulated device's clock. Time stamps come from the work that kernels did (thunk_queue.c says how); what
// the host does meanwhile takes no time at all. So times measured on the device repeat exactly from run to
// run.
#include "thunk.h"
#include <stdatomic.h>
#include <hsakmt/hsakmt.h>

static atomic_uint_fast64_t latest = CLOCK_START;
static atomic_uint_fast64_t readings;

void clock_reached(uint64_t nanoseconds) {
  uint_fast64_t known = atomic_load(&latest);
  while (known < nanoseconds && !atomic_compare_exchange_weak(&latest, &known, nanoseconds)) {
  }
}

uint64_t clock_latest(void) {
  return atomic_load(&latest);
}

// ROCr turns device times into system times with a line through two readings of both clocks. Both clocks are
// the same one here, so that the line is the identity, whenever the readings were taken. Each reading is 1 ns
// later than the last (two equal ones would make ROCr divide by zero), and all of them begin a millisecond
// behind, so that no time stamp lies before the first reading.
THUNK_API HSAKMT_STATUS hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters *counters) {
  enum { BEHIND = 1000 * 1000 };
  if (node >= thunk_nodes()) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  uint64_t reading = clock_latest() - BEHIND + atomic_fetch_add(&readings, 1);
  *counters = (HsaClockCounters){.GPUClockCounter = reading,
                                 .CPUClockCounter = reading,
                                 .SystemClockCounter = reading,
                                 .SystemClockFrequencyHz = 1000 * 1000 * 1000};
  return HSAKMT_STATUS_SUCCESS;
}
