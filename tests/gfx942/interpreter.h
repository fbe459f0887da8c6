// A functional interpreter of gfx942 (CDNA3) machine code, for kernels whose code and data lie in this
// process's memory. Instructions are decoded from the text that AMD's own disassembler (libamd_comgr) gives
// for them. It is functional emulation: no statement about speed follows from it.
//
// Waves of a workgroup take turns on one host thread, which takes the next workgroup when all have ended: a
// kernel that waits for workgroups after its own, as a barrier over the whole grid does, never ends. What
// approximations of the hardware give is computed exactly or by the C library; rounding is to nearest,
// denormals are kept, and changes of these modes are ignored. Not decoded: matrix (MFMA) and 8-bit float
// instructions, buffer instructions, loads from global memory to LDS, and the rarer LDS instructions (masked
// or, exchange of two, append and consume, global wave sync).
#ifndef GFX942_INTERPRETER_H
#define GFX942_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One kernel dispatch, as an AQL packet describes it. Addresses are addresses of this process.
typedef struct {
  uint64_t kernel_descriptor; // of the code object, 64 bytes
  uint64_t kernarg;           // kernel argument segment
  uint64_t packet;            // the AQL packet itself (dispatch pointer)
  uint64_t queue;             // amd_queue_t of the queue
  uint32_t grid[3];           // work-items
  uint32_t workgroup[3];      // work-items
  uint32_t lds_bytes;         // group segment
  uint32_t scratch_bytes;     // private segment, per work-item
} gfx_dispatch;

// Bytes of a line of CDNA3's vector L1 and L2, as bits: both have lines of 128 bytes (AMD CDNA 3 white
// paper).
enum { GFX_LINE_SHIFT = 7 };

// Traffic with global memory in one direction, as bytes asked for and as 128-byte lines, each counted once
// for whoever touches it. Each line count is what a memory level would see if the level before it kept all
// that its owner touched.
typedef struct {
  uint64_t bytes;        // asked for by lanes that are on, and by scalar loads
  uint64_t access_lines; // distinct lines per wave instruction, summed: no cache at all
  uint64_t group_lines;  // distinct lines per workgroup: a vector L1 that never evicts, for each workgroup
  uint64_t die_lines;    // distinct lines per die: an L2 that never evicts
} gfx_traffic;

// Work counted while a dispatch ran. It does not depend on the host's speed or on the number of threads.
typedef struct {
  uint64_t wave_instructions;
  uint64_t memory_transactions; // distinct 128-byte lines per wave-wide global access, summed
  uint64_t lds_cycles;          // cycles that wave-wide LDS accesses take, bank conflicts included
  uint64_t barriers;            // per wave
  gfx_traffic read;             // if it was asked for: loads; not the dispatch's own packet and arguments
  gfx_traffic written;          // stores, and atomics, whose operands travel as a store's data does
} gfx_counts;

// Whether [address, address + bytes) lies in memory that a kernel may touch. Called for global accesses and
// global atomics, from several threads at once.
typedef bool (*gfx_may_access)(void *context, uint64_t address, size_t bytes);

// Told about each instruction when it is first decoded, with its text. Never called by two threads at once.
typedef void (*gfx_decoded)(void *context, uint64_t pc, const char *text);

typedef struct {
  int threads;               // host threads, at least 1; workgroups are dealt to them
  int dies;                  // XCDs, 1 to 64, to which workgroups are dealt in turn; 0: 1
  uint64_t schedule;         // 0: workgroups in order, waves one after the other up to the next barrier; else: one of
                             // many other orders, in which waves take turns within their instructions
  bool count_traffic;        // fill in `read` and `written`, which makes memory accesses slower
  gfx_may_access may_access; // NULL: everything is allowed
  gfx_decoded decoded;       // NULL: nobody wants to know
  void *context;
} gfx_options;

// Runs one dispatch to its end. True on success, and *counts (if not NULL) is filled. False when an
// instruction is not known, or an access is out of bounds: `error` then names the instruction, its address in
// the code and the lane.
bool gfx_run(const gfx_dispatch *dispatch, const gfx_options *options, gfx_counts *counts, char error[512]);

// Forgets decoded instructions: to be called when code may have been loaded over older code.
void gfx_forget_code(void);

#endif
