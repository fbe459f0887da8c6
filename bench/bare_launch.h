// What a program without the library would call to launch a kernel, per back end.
#ifndef GT_BENCH_BARE_LAUNCH_H
#define GT_BENCH_BARE_LAUNCH_H

#include "device/device.h"

// A kernel with the arguments grad_output, grad_input, no workspace and the outer count.
typedef struct {
  gt_kernel *kernel;
  uint32_t grid[3], block[3];
  gt_address grad_output, grad_input;
  int64_t outer;
} gt_bare_launch;

// Launches it on the device's stream with nothing but the driver's calls. False when the driver refuses.
bool gt_bare_launch_opencl(gt_device *device, const gt_bare_launch *launch);
bool gt_bare_launch_cuda(gt_device *device, const gt_bare_launch *launch);

// The stream that is launched on; CUDA: with the device's context made the thread's current one, as it is in
// a program that computes with it. NULL when the driver refuses.
void *gt_bare_stream_opencl(gt_device *device);
void *gt_bare_stream_cuda(gt_device *device);

#endif
