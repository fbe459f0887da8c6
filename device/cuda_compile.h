// The CUDA compiler, NVRTC: needs no device and no driver.
#ifndef GT_DEVICE_CUDA_COMPILE_H
#define GT_DEVICE_CUDA_COMPILE_H

#include "base/buffer.h"
#include "base/status.h"

extern const char gt_cuda_compile_options[];

// Compiles for an architecture that gt_fingerprint_for_arch() knows; GT_UNSUPPORTED for any other.
gt_status gt_cuda_compile(const char *arch, const char *source, gt_buffer *code, gt_buffer *log,
                          gt_error *error);

// "nvrtc 13.0"; empty when there is no compiler.
void gt_cuda_compiler_version(char *text, size_t size);

#endif
