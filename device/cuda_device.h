// What the files of the CUDA back end share: the driver's functions, an open device, and how errors are told.
#ifndef GT_DEVICE_CUDA_DEVICE_H
#define GT_DEVICE_CUDA_DEVICE_H

#include "device/cuda_symbols.h"
#include "device/device.h"

typedef struct {
#define FIELD(name) __typeof__(&name) name;
  CUDA_SYMBOLS(FIELD, FIELD)
#undef FIELD
  CUresult (*elapsed_time)(float *milliseconds, CUevent from,
                           CUevent to); // cuEventElapsedTime, of any version
  CUresult (*graph_instantiate)(CUgraphExec *executable, CUgraph graph,
                                unsigned long long flags); // or NULL
} gt_cuda_functions;

struct gt_device {
  const gt_cuda_functions *cuda;
  CUdevice device;
  CUcontext context; // the primary one, which the CUDA runtime of a program around us uses, too
  CUstream stream;
  CUevent events[GT_MAX_EVENTS];
};

struct gt_kernel {
  CUfunction function;
  gt_kernel *next; // of the same module
};

// The functions of the CUDA driver. GT_NO_LIBRARY when there is none.
gt_status gt_cuda_get_functions(const gt_cuda_functions **cuda, gt_error *error);

// GT_OK for success; else says which call failed and how. `otherwise` is the status of errors that mean no
// particular thing: GT_FAILED for gt_cuda_check().
gt_status gt_cuda_check_as(const gt_cuda_functions *cuda, CUresult code, gt_status otherwise,
                           const char *call, gt_error *error);
gt_status gt_cuda_check(const gt_cuda_functions *cuda, CUresult code, const char *call, gt_error *error);

// Makes a device's context the thread's current one, and leave: the one that the program around us had.
gt_status gt_cuda_enter(const gt_device *device, gt_error *error);
void gt_cuda_leave(const gt_device *device);

gt_status gt_cuda_fingerprint(gt_device *device, gt_fingerprint *fingerprint, gt_error *error);

// The back end's graphs.
gt_status gt_cuda_capture(gt_device *device, gt_error *error);
gt_status gt_cuda_captured(gt_device *device, gt_graph **graph, gt_error *error);
gt_status gt_cuda_replay(gt_device *device, gt_graph *graph, gt_error *error);
void gt_cuda_drop(gt_device *device, gt_graph *graph);

#endif
