#include "bench/bare_launch.h"

#ifdef GT_HAVE_CUDA
#include "device/cuda_device.h"

bool gt_bare_launch_cuda(gt_device *device, const gt_bare_launch *l) {
  gt_address workspace = 0;
  gt_bare_launch copy = *l;
  void *arguments[] = {&copy.grad_output, &copy.grad_input, &workspace, &copy.outer};
  return device->cuda->cuLaunchKernel(l->kernel->function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                      l->block[1], l->block[2], 0, device->stream, arguments,
                                      NULL) == CUDA_SUCCESS;
}

void *gt_bare_stream_cuda(gt_device *device) {
  return gt_cuda_enter(device, NULL) == GT_OK ? device->stream : NULL;
}
#endif
