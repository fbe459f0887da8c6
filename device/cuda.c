// The CUDA back end, over the driver API and in the device's primary context.
#ifdef GT_HAVE_CUDA

#include "device/code_object.h"
#include "device/cuda_compile.h"
#include "device/cuda_device.h"
#include "device/sensors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct gt_module {
  CUmodule module;
  gt_kernel *kernels;
  void *code; // kept, since a driver may load the functions in it only when they are asked for
};

static gt_status cuda_count(int *count, gt_error *error) {
  *count = 0;
  const gt_cuda_functions *cuda;
  gt_status status = gt_cuda_get_functions(&cuda, error);
  if (status != GT_OK) return status;
  const char *call = "cuInit";
  CUresult code = cuda->cuInit(0);
  if (code == CUDA_SUCCESS) {
    call = "cuDeviceGetCount";
    code = cuda->cuDeviceGetCount(count);
  }
  if (code == CUDA_ERROR_NO_DEVICE) {
    *count = 0;
    return GT_OK;
  }
  return gt_cuda_check(cuda, code, call, error);
}

static void cuda_close(gt_device *device) {
  if (!device) return;
  const gt_cuda_functions *cuda = device->cuda;
  if (device->context && gt_cuda_enter(device, NULL) == GT_OK) {
    if (device->stream) (void)cuda->cuStreamSynchronize(device->stream);
    for (int i = 0; i < GT_MAX_EVENTS; i++)
      if (device->events[i]) (void)cuda->cuEventDestroy(device->events[i]);
    if (device->stream) (void)cuda->cuStreamDestroy(device->stream);
    gt_cuda_leave(device);
  }
  if (device->context) (void)cuda->cuDevicePrimaryCtxRelease(device->device);
  free(device);
}

static gt_status cuda_open(int index, gt_device **opened, gt_error *error) {
  *opened = NULL;
  const gt_cuda_functions *cuda;
  int count;
  gt_status status = gt_cuda_get_functions(&cuda, error);
  if (status == GT_OK) status = cuda_count(&count, error);
  if (status != GT_OK) return status;
  if (index < 0 || index >= count)
    return gt_fail(error, GT_NO_DEVICE, "there is no device cuda:%d: the CUDA driver reports %d", index,
                   count);

  gt_device *device = gt_alloc(sizeof *device);
  device->cuda = cuda;
  status = gt_cuda_check(cuda, cuda->cuDeviceGet(&device->device, index), "cuDeviceGet", error);
  if (status != GT_OK) goto failed;
  status = gt_cuda_check(cuda, cuda->cuDevicePrimaryCtxRetain(&device->context, device->device),
                         "cuDevicePrimaryCtxRetain", error);
  if (status != GT_OK) {
    device->context = NULL;
    goto failed;
  }
  status = gt_cuda_enter(device, error);
  if (status != GT_OK) goto failed;
  status = gt_cuda_check(cuda, cuda->cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING),
                         "cuStreamCreate", error);
  for (int i = 0; i < GT_MAX_EVENTS && status == GT_OK; i++)
    status = gt_cuda_check(cuda, cuda->cuEventCreate(&device->events[i], CU_EVENT_DEFAULT), "cuEventCreate",
                           error);
  gt_cuda_leave(device);
  if (status == GT_OK) {
    *opened = device;
    return GT_OK;
  }
failed:
  cuda_close(device);
  return status;
}

// Which number the device of the current context has; 0, as for the CUDA runtime, where there is none yet.
static gt_status current_index(const gt_cuda_functions *cuda, CUcontext *current, int *index,
                               gt_error *error) {
  CUdevice device, other;
  int count;
  *index = 0;
  gt_status status = cuda_count(&count, error);
  if (status == GT_OK && count == 0)
    status = gt_fail(error, GT_NO_DEVICE, "the CUDA driver reports no device");
  if (status == GT_OK) status = gt_cuda_check(cuda, cuda->cuCtxGetCurrent(current), "cuCtxGetCurrent", error);
  if (status != GT_OK || !*current) return status;
  status = gt_cuda_check(cuda, cuda->cuCtxGetDevice(&device), "cuCtxGetDevice", error);
  for (int i = 0; i < count && status == GT_OK; i++) {
    status = gt_cuda_check(cuda, cuda->cuDeviceGet(&other, i), "cuDeviceGet", error);
    if (status == GT_OK && other == device) *index = i;
  }
  return status;
}

static gt_status cuda_attach(void *queue, gt_device **opened, int *index, gt_error *error) {
  const gt_cuda_functions *cuda;
  CUcontext current = NULL;
  *opened = NULL;
  if (queue) return gt_fail(error, GT_USAGE, "cuda: attaches to the current device, not to a queue");
  gt_status status = gt_cuda_get_functions(&cuda, error);
  if (status == GT_OK) status = current_index(cuda, &current, index, error);
  if (status == GT_OK) status = cuda_open(*index, opened, error);
  if (status != GT_OK || !current || current == (*opened)->context) return status;
  cuda_close(*opened);
  *opened = NULL;
  return gt_fail(
      error, GT_UNSUPPORTED,
      "cuda: the current context is not the primary one of device %d, which kernels are loaded into; "
      "cuDevicePrimaryCtxRetain gives that",
      *index);
}

static gt_status cuda_compile(gt_device *device, const char *arch, const char *source, gt_buffer *code,
                              gt_buffer *log, gt_error *error) {
  (void)device;
  return gt_cuda_compile(arch, source, code, log, error);
}

static void cuda_unload(gt_device *device, gt_module *module) {
  if (!module) return;
  if (module->module && gt_cuda_enter(device, NULL) == GT_OK) {
    (void)device->cuda->cuModuleUnload(module->module);
    gt_cuda_leave(device);
  }
  while (module->kernels) {
    gt_kernel *next = module->kernels->next;
    free(module->kernels);
    module->kernels = next;
  }
  free(module->code);
  free(module);
}

static gt_status cuda_load(gt_device *device, const void *code, size_t size, gt_module **loaded,
                           gt_error *error) {
  *loaded = NULL;
  gt_status status = gt_code_object_check(code, size, error);
  if (status == GT_OK) status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  gt_module *module = gt_alloc(sizeof *module);
  module->code = gt_alloc(size);
  memcpy(module->code, code, size);
  status = gt_cuda_check(device->cuda, device->cuda->cuModuleLoadData(&module->module, module->code),
                         "cuModuleLoadData", error);
  gt_cuda_leave(device);
  if (status == GT_OK) {
    *loaded = module;
    return GT_OK;
  }
  module->module = NULL;
  cuda_unload(device, module);
  return status;
}

static gt_status cuda_kernel(gt_device *device, gt_module *module, const char *name, gt_kernel **kernel,
                             gt_error *error) {
  *kernel = NULL;
  CUfunction function;
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  CUresult code = device->cuda->cuModuleGetFunction(&function, module->module, name);
  gt_cuda_leave(device);
  status = gt_cuda_check_as(device->cuda, code, GT_NOT_FOUND, "cuModuleGetFunction", error);
  if (status == GT_NOT_FOUND) return gt_fail(error, status, "the code object has no kernel \"%s\"", name);
  if (status != GT_OK) return status;
  gt_kernel *created = gt_alloc(sizeof *created);
  *created = (gt_kernel){.function = function, .next = module->kernels};
  module->kernels = created;
  *kernel = created;
  return GT_OK;
}

static gt_status cuda_kernel_info(gt_device *device, gt_kernel *kernel, gt_kernel_info *info,
                                  gt_error *error) {
  const gt_cuda_functions *cuda = device->cuda;
  const struct {
    CUfunction_attribute attribute;
    int *value;
  } wanted[] = {{CU_FUNC_ATTRIBUTE_NUM_REGS, &info->registers},
                {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &info->lds_bytes},
                {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &info->scratch_bytes},
                {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->max_threads}};
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    *wanted[i].value = -1;
    if (!cuda->cuFuncGetAttribute || status != GT_OK) continue;
    status =
        gt_cuda_check(cuda, cuda->cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, kernel->function),
                      "cuFuncGetAttribute", error);
  }
  gt_cuda_leave(device);
  return status;
}

static gt_status cuda_allocate(gt_device *device, size_t bytes, gt_address *address, gt_error *error) {
  *address = 0;
  CUdeviceptr pointer = 0;
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  // The driver refuses to allocate no bytes.
  status =
      gt_cuda_check(device->cuda, device->cuda->cuMemAlloc(&pointer, bytes ? bytes : 1), "cuMemAlloc", error);
  gt_cuda_leave(device);
  if (status == GT_OUT_OF_MEMORY)
    return gt_fail(error, status, "cuMemAlloc of %zu bytes: CUDA_ERROR_OUT_OF_MEMORY", bytes);
  if (status == GT_OK) *address = (gt_address)pointer;
  return status;
}

static void cuda_release(gt_device *device, gt_address address) {
  if (!address || gt_cuda_enter(device, NULL) != GT_OK) return;
  (void)device->cuda->cuMemFree((CUdeviceptr)address);
  gt_cuda_leave(device);
}

static gt_status cuda_free_memory(gt_device *device, uint64_t *bytes, gt_error *error) {
  size_t free_bytes = 0, total_bytes = 0;
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  status = gt_cuda_check(device->cuda, device->cuda->cuMemGetInfo(&free_bytes, &total_bytes), "cuMemGetInfo",
                         error);
  gt_cuda_leave(device);
  *bytes = free_bytes;
  return status;
}

static gt_status cuda_synchronize(gt_device *device, gt_error *error) {
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  status = gt_cuda_check(device->cuda, device->cuda->cuStreamSynchronize(device->stream),
                         "cuStreamSynchronize", error);
  gt_cuda_leave(device);
  return status;
}

static gt_status cuda_write(gt_device *device, gt_address to, const void *from, size_t bytes,
                            gt_error *error) {
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  if (bytes)
    status = gt_cuda_check(device->cuda,
                           device->cuda->cuMemcpyHtoDAsync((CUdeviceptr)to, from, bytes, device->stream),
                           "cuMemcpyHtoDAsync", error);
  gt_cuda_leave(device);
  return status == GT_OK ? cuda_synchronize(device, error) : status;
}

static gt_status cuda_read(gt_device *device, void *to, gt_address from, size_t bytes, gt_error *error) {
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  if (bytes)
    status = gt_cuda_check(device->cuda,
                           device->cuda->cuMemcpyDtoHAsync(to, (CUdeviceptr)from, bytes, device->stream),
                           "cuMemcpyDtoHAsync", error);
  gt_cuda_leave(device);
  return status == GT_OK ? cuda_synchronize(device, error) : status;
}

static gt_status cuda_copy(gt_device *device, gt_address to, gt_address from, size_t bytes, gt_error *error) {
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  if (bytes)
    status = gt_cuda_check(
        device->cuda,
        device->cuda->cuMemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, device->stream),
        "cuMemcpyDtoDAsync", error);
  gt_cuda_leave(device);
  return status;
}

static gt_status cuda_fill(gt_device *device, gt_address to, uint32_t word, size_t bytes, gt_error *error) {
  if (bytes % sizeof word)
    return gt_fail(error, GT_USAGE, "a fill of %zu bytes is not a multiple of %zu", bytes, sizeof word);
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  if (bytes)
    status = gt_cuda_check(
        device->cuda,
        device->cuda->cuMemsetD32Async((CUdeviceptr)to, word, bytes / sizeof word, device->stream),
        "cuMemsetD32Async", error);
  gt_cuda_leave(device);
  return status;
}

static gt_status cuda_launch_on(gt_device *device, void *stream, gt_kernel *kernel, const uint32_t grid[3],
                                const uint32_t block[3], const gt_arguments *arguments, gt_error *error) {
  enum { MAX_POINTERS = 8, MAX_INTEGERS = 4 };
  void *parameters[MAX_POINTERS + MAX_INTEGERS];
  int count = 0;
  if (arguments->n_pointers > MAX_POINTERS || arguments->n_integers > MAX_INTEGERS)
    return gt_fail(error, GT_USAGE, "a kernel takes at most %d pointers and %d integers", MAX_POINTERS,
                   MAX_INTEGERS);
  for (int i = 0; i < arguments->n_pointers; i++)
    parameters[count++] = (void *)(uintptr_t)&arguments->pointers[i];
  for (int i = 0; i < arguments->n_integers; i++)
    parameters[count++] = (void *)(uintptr_t)&arguments->integers[i];

  // Pushing and popping cost a tenth of a launch: spared where the program has the context already.
  CUcontext current = NULL;
  gt_status status = GT_OK;
  bool enter = device->cuda->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != device->context;
  if (enter) status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  CUresult code = device->cuda->cuLaunchKernel(kernel->function, grid[0], grid[1], grid[2], block[0],
                                               block[1], block[2], 0, (CUstream)stream, parameters, NULL);
  if (enter) gt_cuda_leave(device);
  return gt_cuda_check_as(device->cuda, code, GT_LAUNCH, "cuLaunchKernel", error);
}

static gt_status cuda_launch(gt_device *device, gt_kernel *kernel, const uint32_t grid[3],
                             const uint32_t block[3], const gt_arguments *arguments, gt_error *error) {
  return cuda_launch_on(device, device->stream, kernel, grid, block, arguments, error);
}

static gt_status cuda_mark(gt_device *device, int slot, gt_error *error) {
  if (slot < 0 || slot >= GT_MAX_EVENTS) return gt_fail(error, GT_USAGE, "there is no event slot %d", slot);
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  status = gt_cuda_check(device->cuda, device->cuda->cuEventRecord(device->events[slot], device->stream),
                         "cuEventRecord", error);
  gt_cuda_leave(device);
  return status;
}

static gt_status cuda_elapsed(gt_device *device, int from, int to, double *microseconds, gt_error *error) {
  const gt_cuda_functions *cuda = device->cuda;
  float milliseconds = 0;
  if (from < 0 || from >= GT_MAX_EVENTS || to < 0 || to >= GT_MAX_EVENTS)
    return gt_fail(error, GT_USAGE, "there is no event slot %d",
                   from < 0 || from >= GT_MAX_EVENTS ? from : to);
  gt_status status = gt_cuda_enter(device, error);
  if (status != GT_OK) return status;
  status = gt_cuda_check(cuda, cuda->cuEventSynchronize(device->events[to]), "cuEventSynchronize", error);
  if (status == GT_OK)
    status = gt_cuda_check(cuda, cuda->elapsed_time(&milliseconds, device->events[from], device->events[to]),
                           "cuEventElapsedTime", error);
  gt_cuda_leave(device);
  *microseconds = 1000.0 * milliseconds;
  return status;
}

static gt_readings cuda_readings(gt_device *device) {
  char pci_id[32];
  if (!device->cuda->cuDeviceGetPCIBusId ||
      device->cuda->cuDeviceGetPCIBusId(pci_id, sizeof pci_id, device->device) != CUDA_SUCCESS)
    return (gt_readings){0};
  return gt_sensors_nvml(pci_id);
}

extern const gt_backend gt_backend_cuda;
const gt_backend gt_backend_cuda = {
    .version = GT_BACKEND_VERSION,
    .name = "cuda",
    .target = GT_TARGET_CUDA,
    .compile_options = gt_cuda_compile_options,
    .compiles_alone = true,
    .executes = true,
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .attach = cuda_attach,
    .compiler = gt_cuda_compiler_version,
    .fingerprint = gt_cuda_fingerprint,
    .compile = cuda_compile,
    .load = cuda_load,
    .unload = cuda_unload,
    .kernel = cuda_kernel,
    .kernel_info = cuda_kernel_info,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .free_memory = cuda_free_memory,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .launch = cuda_launch,
    .launch_on = cuda_launch_on,
    .synchronize = cuda_synchronize,
    .mark = cuda_mark,
    .elapsed = cuda_elapsed,
    .capture = gt_cuda_capture,
    .captured = gt_cuda_captured,
    .replay = gt_cuda_replay,
    .drop = gt_cuda_drop,
    .readings = cuda_readings,
};

#else
typedef int gt_cuda_is_not_built; // ISO C wants a declaration in every file
#endif
