// Opening the CUDA driver, and what every call of it needs.
#ifdef GT_HAVE_CUDA

#include "device/cuda_device.h"
#include "device/library.h"

#include <pthread.h>

// Opened once per process; constant from then on.
static struct {
  pthread_once_t once;
  gt_cuda_functions table;
  gt_status status;
  gt_error error;
} driver = {.once = PTHREAD_ONCE_INIT};

static void open_driver(void) {
  // The driver comes with the system, not with the toolkit: what the toolkit has of that name is a stub
  // without functions.
  static const char *const names[] = {"libcuda.so.1", NULL};
  static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib", NULL};
  static const gt_library library = {"the CUDA driver", names, folders};
  static const gt_symbol symbols[] = {
#define TEXT(name) #name
#define SYMBOL(name, required) {TEXT(name), NULL, offsetof(gt_cuda_functions, name), required},
#define REQUIRED(name) SYMBOL(name, true)
#define OPTIONAL(name) SYMBOL(name, false)
      CUDA_SYMBOLS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
#undef SYMBOL
#undef TEXT
      // cuda.h of CUDA 13 makes it its second version, which has the same form and which drivers before 12.8
      // lack.
      {"cuEventElapsedTime_v2", "cuEventElapsedTime", offsetof(gt_cuda_functions, elapsed_time), true},
      // Of this form in every driver since 11.4; cuda.h has it under this name or as cuGraphInstantiate, which
      // was another function before CUDA 12.
      {"cuGraphInstantiateWithFlags", NULL, offsetof(gt_cuda_functions, graph_instantiate), false},
  };
  driver.status =
      gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], &driver.table, &driver.error);
}

gt_status gt_cuda_get_functions(const gt_cuda_functions **cuda, gt_error *error) {
  pthread_once(&driver.once, open_driver);
  if (driver.status != GT_OK) return gt_fail(error, driver.status, "%s", driver.error.text);
  *cuda = &driver.table;
  return GT_OK;
}

static gt_status status_of(CUresult code, gt_status otherwise) {
  switch ((int)code) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return GT_OUT_OF_MEMORY;
  case CUDA_ERROR_DEINITIALIZED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case 226: // CUDA_ERROR_CONTAINED, which older headers lack
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
    return GT_DEVICE_LOST; // each stays until the process ends
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return GT_LAUNCH;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
    return GT_NO_DEVICE;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return GT_UNSUPPORTED;
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_SOURCE:
    return GT_CORRUPT;
  case CUDA_ERROR_NOT_FOUND:
    return GT_NOT_FOUND;
  default:
    return otherwise;
  }
}

gt_status gt_cuda_check_as(const gt_cuda_functions *cuda, CUresult code, gt_status otherwise,
                           const char *call, gt_error *error) {
  if (code == CUDA_SUCCESS) return GT_OK;
  // Both calls set the text to NULL for a code that they do not know.
  const char *name = NULL, *text = NULL;
  (void)cuda->cuGetErrorName(code, &name);
  (void)cuda->cuGetErrorString(code, &text);
  return gt_fail(error, status_of(code, otherwise), "%s: %s %d (%s)", call, name ? name : "CUDA error",
                 (int)code, text ? text : "no text");
}

gt_status gt_cuda_check(const gt_cuda_functions *cuda, CUresult code, const char *call, gt_error *error) {
  return gt_cuda_check_as(cuda, code, GT_FAILED, call, error);
}

gt_status gt_cuda_enter(const gt_device *device, gt_error *error) {
  return gt_cuda_check(device->cuda, device->cuda->cuCtxPushCurrent(device->context), "cuCtxPushCurrent",
                       error);
}

void gt_cuda_leave(const gt_device *device) {
  CUcontext ours;
  (void)device->cuda->cuCtxPopCurrent(&ours);
}

#else
typedef int gt_cuda_runtime_is_not_built; // ISO C wants a declaration in every file
#endif
