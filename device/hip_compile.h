// The HIP compiler, hiprtc: needs no device.
#ifndef GT_DEVICE_HIP_COMPILE_H
#define GT_DEVICE_HIP_COMPILE_H

#include "base/buffer.h"
#include "base/status.h"

// Where HIP's libraries are, after the system's own search path.
extern const char *const gt_hip_folders[];

extern const char gt_hip_compile_options[];

// Compiles for an architecture that gt_fingerprint_for_arch() knows; GT_UNSUPPORTED for any other.
gt_status gt_hip_compile(const char *arch, const char *source, gt_buffer *code, gt_buffer *log,
                         gt_error *error);

// "hiprtc 9.0, libhiprtc.so.6.2.60204"; empty when there is no compiler.
void gt_hip_compiler_version(char *text, size_t size);

#endif
