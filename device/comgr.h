// What a code object for an AMD GPU says about its kernels, read by AMD's code object manager (comgr).
#ifndef GT_DEVICE_COMGR_H
#define GT_DEVICE_COMGR_H

#include "base/status.h"
#include "device/instruction.h"

#include <stddef.h>

enum { GT_KERNELS_OF_CODE = 16 }; // that are read; more are an error

// From the metadata (the ELF note NT_AMDGPU_METADATA, "amdhsa.kernels" in LLVM's "User Guide for AMDGPU
// Backend"). -1 where it does not say.
typedef struct {
  char name[128];
  int vgprs;       // vector registers per lane; where both kinds share one file (since gfx90a), of both
  int accum_vgprs; // accumulation registers
  int sgprs;       // scalar registers per wave
  int vgpr_spills, sgpr_spills;
  int lds_bytes;     // per block, static
  int scratch_bytes; // per lane
  int kernarg_bytes;
  int max_threads; // per block
  int wave_size;
  gt_instruction_counts instructions; // of the kernel's function, each once, however often it runs
} gt_kernel_facts;

typedef struct {
  gt_kernel_facts kernels[GT_KERNELS_OF_CODE]; // in the code object's order
  size_t count;
} gt_code_facts;

// GT_CORRUPT for what is no whole code object of an AMD GPU, GT_NO_LIBRARY with every path that was tried,
// GT_UNSUPPORTED when the library cannot read this one. The library may crash on code that others made: call
// it in a process of its own.
gt_status gt_comgr_read(const void *code, size_t size, gt_code_facts *facts, gt_error *error);

#endif
