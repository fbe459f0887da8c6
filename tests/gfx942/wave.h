// The state of a wave and of the workgroup that it belongs to.
#ifndef GFX942_WAVE_H
#define GFX942_WAVE_H

#include "code_cache.h"
#include "decode.h"
#include "interpreter.h"
#include "lines.h"

// Where flat addresses mean LDS and scratch. The high halves are what src_shared_base and src_private_base
// give.
static const uint64_t lds_aperture = 0x1000000000000, scratch_aperture = 0x2000000000000;

enum { KNOWN_PAGES = 64 };

// One workgroup at a time on one host thread, with what outlives a workgroup there.
typedef struct {
  const gfx_dispatch *dispatch;
  const gfx_options *options;
  CodeReader code;
  uint32_t kernarg_bytes;
  uint32_t registers; // vector registers per lane that the kernel may use
  uint32_t id[3];
  uint8_t *lds;
  uint32_t lds_bytes;
  Wave *wave;
  int waves;
  gfx_counts counts;
  LineSet lines;     // that this workgroup has touched, see touch_line()
  LineSet die_lines; // that any workgroup of this thread has touched, with the number of its die
  uint64_t known_page[KNOWN_PAGES]; // 4 KiB pages that may_access has allowed, plus one; 0 for none
  char fault[512];
  uint64_t random; // state of its schedule's pseudo-random numbers; 0: waves run in order
} Workgroup;

struct Wave {
  _Alignas(64) uint32_t vector[2 * ACCUMULATION_REGISTERS][LANES];
  uint32_t scalar[SCALARS];
  bool scc, done, at_barrier;
  uint8_t index_mode; // operands that M0 shifts, as bits: sources 0 to 2, destination; 0 when the mode is off
  uint64_t pc;
  uint64_t instructions;
  uint32_t lane_mask[LANES]; // all ones in the lanes of `lane_mask_of`
  uint64_t lane_mask_of;
  uint8_t *scratch; // of lane 0; the lanes follow each other
  uint32_t scratch_bytes;
  int index;
  Workgroup *group;
};

static inline uint64_t scalar_pair(const Wave *wave, int reg) {
  return wave->scalar[reg] | (uint64_t)wave->scalar[reg + 1] << 32;
}

static inline void set_scalar_pair(Wave *wave, int reg, uint64_t value) {
  wave->scalar[reg] = (uint32_t)value;
  wave->scalar[reg + 1] = (uint32_t)(value >> 32);
}

static inline uint64_t wave_exec(const Wave *wave) {
  return scalar_pair(wave, SCALAR_EXEC);
}

static inline uint64_t vector_pair(const Wave *wave, int reg, int lane) {
  return wave->vector[reg][lane] | (uint64_t)wave->vector[reg + 1][lane] << 32;
}

static inline void set_vector_pair(Wave *wave, int reg, int lane, uint64_t value) {
  wave->vector[reg][lane] = (uint32_t)value;
  wave->vector[reg + 1][lane] = (uint32_t)(value >> 32);
}

// Value of an operand that is the same in all lanes. Floats are given in the width that is read.
uint32_t wave_read32(const Wave *wave, const Operand *operand);
uint64_t wave_read64(const Wave *wave, const Operand *operand);

// Sets the workgroup's fault text and returns false. The instruction, its place and the wave are added.
bool wave_fault(Wave *wave, const Instruction *instruction, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Notes that the workgroup reads or writes a line, which is an address without its GFX_LINE_SHIFT low bits.
static inline void touch_line(Workgroup *group, uint64_t line, bool write) {
  gfx_traffic *traffic = write ? &group->counts.written : &group->counts.read;
  traffic->access_lines++;
  // Plus one, since sets have no 0.
  if (line_set_add(&group->lines, (line << 1 | write) + 1)) traffic->group_lines++;
}

// Runs the workgroup whose id is set to its end. False when a wave faulted.
bool workgroup_run(Workgroup *group);

#endif
