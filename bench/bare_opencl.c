#include "bench/bare_launch.h"

#ifdef GT_HAVE_OPENCL
#include "device/opencl.h"

bool gt_bare_launch_opencl(gt_device *device, const gt_bare_launch *l) {
  const gt_opencl *cl = &device->cl;
  cl_kernel kernel = l->kernel->kernel;
  size_t global[3], local[3];
  cl_long outer = l->outer;
  for (int i = 0; i < 3; i++) global[i] = l->grid[i] * (local[i] = l->block[i]);
  return cl->clSetKernelArgSVMPointer(kernel, 0, (void *)(uintptr_t)l->grad_output) == CL_SUCCESS &&
         cl->clSetKernelArgSVMPointer(kernel, 1, (void *)(uintptr_t)l->grad_input) == CL_SUCCESS &&
         cl->clSetKernelArgSVMPointer(kernel, 2, NULL) == CL_SUCCESS &&
         cl->clSetKernelArg(kernel, 3, sizeof outer, &outer) == CL_SUCCESS &&
         cl->clEnqueueNDRangeKernel(device->queue, kernel, 3, NULL, global, local, 0, NULL, NULL) ==
             CL_SUCCESS;
}

void *gt_bare_stream_opencl(gt_device *device) {
  return device->queue;
}
#endif
