// What the parts of the OpenCL back end share.
#ifndef GT_DEVICE_OPENCL_H
#define GT_DEVICE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <pthread.h>

#include "device/device.h"
#include "device/opencl_symbols.h"

#define GT_OPENCL_OPTIONS "-cl-std=CL1.2"

typedef struct {
#define X(name) __typeof__(&name) name;
  GT_OPENCL_SYMBOLS(X)
#undef X
} gt_opencl;

// One allocation. OpenCL aligns less than device.h promises, so the address lies somewhat after the base.
typedef struct {
  void *base;
  gt_address address;
  size_t bytes;
} gt_opencl_allocation;

struct gt_device {
  gt_opencl cl;
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue; // in order
  gt_fingerprint fingerprint;
  bool rounds_division; // accepts the option that asks for correctly rounded division
  gt_opencl_allocation *allocations;
  size_t n_allocations;
  uint64_t allocated_bytes;
  pthread_mutex_t arguments; // of kernels, while one is being launched
  cl_event marks[GT_MAX_EVENTS];
};

struct gt_kernel {
  cl_kernel kernel;
  char *name;
  cl_uint n_arguments;
  gt_kernel_info info;
  gt_kernel *next; // of the same module
};

// Fills *error for an OpenCL error code: "opencl: WHAT: CL_INVALID_VALUE (-30)". The status follows from the
// code where it says that memory has run out or that the device is gone, and is `otherwise` where not.
gt_status gt_opencl_fail(gt_error *error, gt_status otherwise, cl_int code, const char *what);

// opencl_find.c: libraries, devices and what they are.
gt_status gt_opencl_open_library(gt_opencl *cl, gt_error *error);
// The device of an index: GPUs of all platforms first, then CPUs. *count receives how many there are.
gt_status gt_opencl_find(const gt_opencl *cl, int index, cl_platform_id *platform, cl_device_id *device,
                         int *count, gt_error *error);
gt_status gt_opencl_identify(const gt_opencl *cl, cl_platform_id platform, cl_device_id device,
                             gt_fingerprint *fingerprint, gt_error *error);

// opencl_compile.c: those functions of the back end that compile and load.
gt_status gt_opencl_compile(gt_device *device, const char *arch, const char *source, gt_buffer *code,
                            gt_buffer *log, gt_error *error);
gt_status gt_opencl_load(gt_device *device, const void *code, size_t size, gt_module **module,
                         gt_error *error);
void gt_opencl_unload(gt_device *device, gt_module *module);
gt_status gt_opencl_kernel(gt_device *device, gt_module *module, const char *name, gt_kernel **kernel,
                           gt_error *error);

#endif
