// What the files of the HIP back end share: the runtime's functions, an open device, and how errors are told.
#ifndef GT_DEVICE_HIP_DEVICE_H
#define GT_DEVICE_HIP_DEVICE_H

#include "device/device.h"
#include "device/hip_symbols.h"

typedef struct {
#define FIELD(name) __typeof__(&name) name;
  HIP_SYMBOLS(FIELD, FIELD)
#undef FIELD
  int (*properties)(void *properties, int index);
  // Not of HIP: what a driver library has that counts traffic, as the one of the emulated MI300X does; else
  // NULL. Four counts of bytes read and four of bytes written, as in gt_moved, since the last call.
  void (*traffic)(uint64_t bytes[8]);
} gt_hip_functions;

struct gt_device {
  const gt_hip_functions *hip;
  int index;
  int max_threads; // per block
  hipStream_t stream;
  hipEvent_t events[GT_MAX_EVENTS];
};

// The functions of the HIP runtime; GT_NO_LIBRARY when there is none.
gt_status gt_hip_get_functions(const gt_hip_functions **hip, gt_error *error);

// GT_OK for success; else says which call failed and how. `otherwise` is the status of errors that mean no
// particular thing: GT_FAILED for gt_hip_check().
gt_status gt_hip_check_as(const gt_hip_functions *hip, hipError_t code, gt_status otherwise, const char *call,
                          gt_error *error);
gt_status gt_hip_check(const gt_hip_functions *hip, hipError_t code, const char *call, gt_error *error);

// Makes a device the thread's current one, and leave: the one that the program around us had.
gt_status gt_hip_enter(const gt_device *device, int *previous, gt_error *error);
void gt_hip_leave(const gt_device *device, int previous);

gt_status gt_hip_fingerprint(gt_device *device, gt_fingerprint *fingerprint, gt_error *error);

// The back end's graphs.
gt_status gt_hip_capture(gt_device *device, gt_error *error);
gt_status gt_hip_captured(gt_device *device, gt_graph **graph, gt_error *error);
gt_status gt_hip_replay(gt_device *device, gt_graph *graph, gt_error *error);
void gt_hip_drop(gt_device *device, gt_graph *graph);

#endif
