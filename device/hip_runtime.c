// Opening the HIP runtime (5, 6 or 7), and what every call of it needs.
#ifdef GT_HAVE_HIP

#include "device/hip_compile.h"
#include "device/hip_device.h"
#include "device/library.h"

#include <pthread.h>

// Opened once per process; constant from then on.
static struct {
  pthread_once_t once;
  gt_hip_functions table;
  gt_status status;
  gt_error error;
} runtime = {.once = PTHREAD_ONCE_INIT};

static void open_runtime(void) {
  static const char *const names[] = {"libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so.7",
                                      "libamdhip64.so", NULL};
  static const gt_library library = {"the HIP runtime", names, gt_hip_folders};
  static const gt_symbol symbols[] = {
#define REQUIRED(name) {#name, NULL, offsetof(gt_hip_functions, name), true},
#define OPTIONAL(name) {#name, NULL, offsetof(gt_hip_functions, name), false},
      HIP_SYMBOLS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
          {"hipGetDevicePropertiesR0600", "hipGetDeviceProperties", offsetof(gt_hip_functions, properties),
           true},
      {"gfx942_traffic", NULL, offsetof(gt_hip_functions, traffic), false},
  };
  runtime.status =
      gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], &runtime.table, &runtime.error);
}

gt_status gt_hip_get_functions(const gt_hip_functions **hip, gt_error *error) {
  pthread_once(&runtime.once, open_runtime);
  if (runtime.status != GT_OK) return gt_fail(error, runtime.status, "%s", runtime.error.text);
  *hip = &runtime.table;
  return GT_OK;
}

static gt_status status_of(hipError_t code, gt_status otherwise) {
  switch ((int)code) {
  case hipErrorOutOfMemory:
    return GT_OUT_OF_MEMORY;
  case hipErrorDeinitialized:
  case hipErrorECCNotCorrectable:
  case hipErrorIllegalAddress:
  case hipErrorLaunchTimeOut:
  case hipErrorContextIsDestroyed:
  case hipErrorAssert:
  case hipErrorLaunchFailure:
    return GT_DEVICE_LOST; // each stays until the process ends
  case hipErrorInvalidConfiguration:
  case hipErrorLaunchOutOfResources:
    return GT_LAUNCH;
  case hipErrorNoDevice:
  case hipErrorInvalidDevice:
    return GT_NO_DEVICE;
  case hipErrorNoBinaryForGpu:
    return GT_UNSUPPORTED;
  case hipErrorInvalidImage:
  case hipErrorInvalidKernelFile:
    return GT_CORRUPT;
  default:
    return otherwise;
  }
}

// particular thing.
gt_status gt_hip_check_as(const gt_hip_functions *hip, hipError_t code, gt_status otherwise, const char *call,
                          gt_error *error) {
  if (code == hipSuccess) return GT_OK;
  // The error has been told. Left where it is, the program around us would take it for one of its own.
  if (hip->hipGetLastError) (void)hip->hipGetLastError();
  return gt_fail(error, status_of(code, otherwise), "%s: %s (%s)", call, hip->hipGetErrorName(code),
                 hip->hipGetErrorString(code));
}

gt_status gt_hip_check(const gt_hip_functions *hip, hipError_t code, const char *call, gt_error *error) {
  return gt_hip_check_as(hip, code, GT_FAILED, call, error);
}

gt_status gt_hip_enter(const gt_device *device, int *previous, gt_error *error) {
  const gt_hip_functions *hip = device->hip;
  *previous = device->index;
  gt_status status = gt_hip_check(hip, hip->hipGetDevice(previous), "hipGetDevice", error);
  if (status != GT_OK || *previous == device->index) return status;
  return gt_hip_check(hip, hip->hipSetDevice(device->index), "hipSetDevice", error);
}

void gt_hip_leave(const gt_device *device, int previous) {
  if (previous != device->index) (void)device->hip->hipSetDevice(previous);
}

#else
typedef int gt_hip_runtime_is_not_built; // ISO C wants a declaration in every file
#endif
