// The HIP back end, over the module API of whatever HIP runtime (5, 6, 7) is there when the program runs.
#ifdef GT_HAVE_HIP

#include "device/code_object.h"
#include "device/hip_compile.h"
#include "device/hip_device.h"
#include "device/sensors.h"

#include <stdlib.h>
#include <string.h>

struct gt_kernel {
  hipFunction_t function;
  gt_kernel *next;
};

struct gt_module {
  hipModule_t module;
  gt_kernel *kernels;
  void *code; // some runtimes refer to the image for as long as the module lives
};

static gt_status hip_count(int *count, gt_error *error) {
  *count = 0;
  const gt_hip_functions *hip;
  gt_status status = gt_hip_get_functions(&hip, error);
  if (status != GT_OK) return status;
  const char *call = "hipInit";
  hipError_t code = hip->hipInit(0);
  if (code == hipSuccess) {
    call = "hipGetDeviceCount";
    code = hip->hipGetDeviceCount(count);
  }
  if (code == hipErrorNoDevice || code == hipErrorInvalidDevice) {
    if (hip->hipGetLastError) (void)hip->hipGetLastError();
    *count = 0;
    return GT_OK;
  }
  return gt_hip_check(hip, code, call, error);
}

static void hip_close(gt_device *device) {
  if (!device) return;
  const gt_hip_functions *hip = device->hip;
  int previous;
  if (gt_hip_enter(device, &previous, NULL) == GT_OK) {
    if (device->stream) (void)hip->hipStreamSynchronize(device->stream);
    for (int i = 0; i < GT_MAX_EVENTS; i++)
      if (device->events[i]) (void)hip->hipEventDestroy(device->events[i]);
    if (device->stream) (void)hip->hipStreamDestroy(device->stream);
    gt_hip_leave(device, previous);
  }
  free(device);
}

static gt_status hip_open(int index, gt_device **opened, gt_error *error) {
  *opened = NULL;
  const gt_hip_functions *hip;
  int count, previous;
  gt_status status = gt_hip_get_functions(&hip, error);
  if (status == GT_OK) status = hip_count(&count, error);
  if (status != GT_OK) return status;
  if (index < 0 || index >= count)
    return gt_fail(error, GT_NO_DEVICE, "there is no device hip:%d: the HIP runtime reports %d", index,
                   count);

  gt_device *device = gt_alloc(sizeof *device);
  *device = (gt_device){.hip = hip, .index = index};
  status = gt_hip_check(
      hip, hip->hipDeviceGetAttribute(&device->max_threads, hipDeviceAttributeMaxThreadsPerBlock, index),
      "hipDeviceGetAttribute(MaxThreadsPerBlock)", error);
  if (status == GT_OK) status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) goto failed;
  status = gt_hip_check(hip, hip->hipStreamCreateWithFlags(&device->stream, hipStreamNonBlocking),
                        "hipStreamCreateWithFlags", error);
  for (int i = 0; i < GT_MAX_EVENTS && status == GT_OK; i++)
    status = gt_hip_check(hip, hip->hipEventCreateWithFlags(&device->events[i], hipEventDefault),
                          "hipEventCreateWithFlags", error);
  gt_hip_leave(device, previous);
  if (status == GT_OK) {
    *opened = device;
    return GT_OK;
  }
failed:
  hip_close(device);
  return status;
}

static gt_status hip_compile(gt_device *device, const char *arch, const char *source, gt_buffer *code,
                             gt_buffer *log, gt_error *error) {
  (void)device;
  return gt_hip_compile(arch, source, code, log, error);
}

static void hip_unload(gt_device *device, gt_module *module) {
  if (!module) return;
  int previous;
  if (module->module && gt_hip_enter(device, &previous, NULL) == GT_OK) {
    (void)device->hip->hipModuleUnload(module->module);
    gt_hip_leave(device, previous);
  }
  while (module->kernels) {
    gt_kernel *next = module->kernels->next;
    free(module->kernels);
    module->kernels = next;
  }
  free(module->code);
  free(module);
}

static gt_status hip_load(gt_device *device, const void *code, size_t size, gt_module **loaded,
                          gt_error *error) {
  *loaded = NULL;
  int previous;
  gt_status status = gt_code_object_check(code, size, error);
  if (status == GT_OK) status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  gt_module *module = gt_alloc(sizeof *module);
  module->code = gt_alloc(size);
  memcpy(module->code, code, size);
  status = gt_hip_check(device->hip, device->hip->hipModuleLoadData(&module->module, module->code),
                        "hipModuleLoadData", error);
  gt_hip_leave(device, previous);
  if (status == GT_OK) {
    *loaded = module;
    return GT_OK;
  }
  module->module = NULL;
  hip_unload(device, module);
  return status;
}

static gt_status hip_kernel(gt_device *device, gt_module *module, const char *name, gt_kernel **kernel,
                            gt_error *error) {
  *kernel = NULL;
  hipFunction_t function;
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  hipError_t code = device->hip->hipModuleGetFunction(&function, module->module, name);
  gt_hip_leave(device, previous);
  status = gt_hip_check_as(device->hip, code, GT_NOT_FOUND, "hipModuleGetFunction", error);
  if (status == GT_NOT_FOUND) return gt_fail(error, status, "the code object has no kernel \"%s\"", name);
  if (status != GT_OK) return status;
  gt_kernel *created = gt_alloc(sizeof *created);
  *created = (gt_kernel){.function = function, .next = module->kernels};
  module->kernels = created;
  *kernel = created;
  return GT_OK;
}

static gt_status hip_kernel_info(gt_device *device, gt_kernel *kernel, gt_kernel_info *info,
                                 gt_error *error) {
  const gt_hip_functions *hip = device->hip;
  const struct {
    hipFunction_attribute attribute;
    int *value;
  } wanted[] = {{HIP_FUNC_ATTRIBUTE_NUM_REGS, &info->registers},
                {HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &info->lds_bytes},
                {HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &info->scratch_bytes},
                {HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->max_threads}};
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    *wanted[i].value = -1;
    if (!hip->hipFuncGetAttribute || status != GT_OK) continue;
    status =
        gt_hip_check(hip, hip->hipFuncGetAttribute(wanted[i].value, wanted[i].attribute, kernel->function),
                     "hipFuncGetAttribute", error);
  }
  gt_hip_leave(device, previous);
  return status;
}

static gt_status hip_allocate(gt_device *device, size_t bytes, gt_address *address, gt_error *error) {
  *address = 0;
  void *pointer = NULL;
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  // No bytes would give no address.
  status = gt_hip_check(device->hip, device->hip->hipMalloc(&pointer, bytes ? bytes : 1), "hipMalloc", error);
  gt_hip_leave(device, previous);
  if (status == GT_OUT_OF_MEMORY)
    return gt_fail(error, status, "hipMalloc of %zu bytes: hipErrorOutOfMemory", bytes);
  if (status == GT_OK) *address = (gt_address)(uintptr_t)pointer;
  return status;
}

static void hip_release(gt_device *device, gt_address address) {
  int previous;
  if (!address || gt_hip_enter(device, &previous, NULL) != GT_OK) return;
  (void)device->hip->hipFree((void *)(uintptr_t)address);
  gt_hip_leave(device, previous);
}

static gt_status hip_free_memory(gt_device *device, uint64_t *bytes, gt_error *error) {
  size_t free_bytes = 0, total_bytes = 0;
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  status = gt_hip_check(device->hip, device->hip->hipMemGetInfo(&free_bytes, &total_bytes), "hipMemGetInfo",
                        error);
  gt_hip_leave(device, previous);
  *bytes = free_bytes;
  return status;
}

static gt_status hip_synchronize(gt_device *device, gt_error *error) {
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  status = gt_hip_check(device->hip, device->hip->hipStreamSynchronize(device->stream),
                        "hipStreamSynchronize", error);
  gt_hip_leave(device, previous);
  return status;
}

static gt_status hip_write(gt_device *device, gt_address to, const void *from, size_t bytes,
                           gt_error *error) {
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  if (bytes)
    // Not const in HIP 5's declaration.
    status = gt_hip_check(device->hip,
                          device->hip->hipMemcpyHtoDAsync((hipDeviceptr_t)(uintptr_t)to,
                                                          (void *)(uintptr_t)from, bytes, device->stream),
                          "hipMemcpyHtoDAsync", error);
  gt_hip_leave(device, previous);
  return status == GT_OK ? hip_synchronize(device, error) : status;
}

static gt_status hip_read(gt_device *device, void *to, gt_address from, size_t bytes, gt_error *error) {
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  if (bytes)
    status = gt_hip_check(
        device->hip,
        device->hip->hipMemcpyDtoHAsync(to, (hipDeviceptr_t)(uintptr_t)from, bytes, device->stream),
        "hipMemcpyDtoHAsync", error);
  gt_hip_leave(device, previous);
  return status == GT_OK ? hip_synchronize(device, error) : status;
}

static gt_status hip_copy(gt_device *device, gt_address to, gt_address from, size_t bytes, gt_error *error) {
  int previous;
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  if (bytes)
    status =
        gt_hip_check(device->hip,
                     device->hip->hipMemcpyDtoDAsync((hipDeviceptr_t)(uintptr_t)to,
                                                     (hipDeviceptr_t)(uintptr_t)from, bytes, device->stream),
                     "hipMemcpyDtoDAsync", error);
  gt_hip_leave(device, previous);
  return status;
}

static gt_status hip_fill(gt_device *device, gt_address to, uint32_t word, size_t bytes, gt_error *error) {
  const size_t piece = (size_t)1 << 30; // the runtime's fill kernel numbers its work items in 32 bits
  int previous;
  if (bytes % sizeof word)
    return gt_fail(error, GT_USAGE, "a fill of %zu bytes is not a multiple of %zu", bytes, sizeof word);
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  for (size_t at = 0; at < bytes && status == GT_OK; at += piece) {
    size_t words = (bytes - at < piece ? bytes - at : piece) / sizeof word;
    status = gt_hip_check(device->hip,
                          device->hip->hipMemsetD32Async((hipDeviceptr_t)(uintptr_t)(to + at), (int)word,
                                                         words, device->stream),
                          "hipMemsetD32Async", error);
  }
  gt_hip_leave(device, previous);
  return status;
}

// The runtime multiplies these in 32 bits, and launches what is left of a product that does not fit.
static gt_status check_sizes(const gt_device *device, const uint32_t grid[3], const uint32_t block[3],
                             gt_error *error) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    threads *= block[i] <= UINT16_MAX ? block[i] : UINT16_MAX; // either is too many, and three of them fit
    if (grid[i] == 0 || (uint64_t)grid[i] * block[i] > UINT32_MAX)
      return gt_fail(error, GT_LAUNCH,
                     "a grid of %u x %u x %u blocks of %u x %u x %u threads is empty, or too large for HIP",
                     grid[0], grid[1], grid[2], block[0], block[1], block[2]);
  }
  if (threads < 1 || threads > (uint64_t)device->max_threads)
    return gt_fail(error, GT_LAUNCH, "a block of %u x %u x %u threads: the device takes 1 to %d", block[0],
                   block[1], block[2], device->max_threads);
  return GT_OK;
}

static gt_status hip_launch(gt_device *device, gt_kernel *kernel, const uint32_t grid[3],
                            const uint32_t block[3], const gt_arguments *arguments, gt_error *error) {
  enum { MAX_POINTERS = 8, MAX_INTEGERS = 4 };
  void *parameters[MAX_POINTERS + MAX_INTEGERS];
  int count = 0, previous;
  if (arguments->n_pointers > MAX_POINTERS || arguments->n_integers > MAX_INTEGERS)
    return gt_fail(error, GT_USAGE, "a kernel takes at most %d pointers and %d integers", MAX_POINTERS,
                   MAX_INTEGERS);
  for (int i = 0; i < arguments->n_pointers; i++)
    parameters[count++] = (void *)(uintptr_t)&arguments->pointers[i];
  for (int i = 0; i < arguments->n_integers; i++)
    parameters[count++] = (void *)(uintptr_t)&arguments->integers[i];

  gt_status status = check_sizes(device, grid, block, error);
  if (status == GT_OK) status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  hipError_t code =
      device->hip->hipModuleLaunchKernel(kernel->function, grid[0], grid[1], grid[2], block[0], block[1],
                                         block[2], 0, device->stream, parameters, NULL);
  gt_hip_leave(device, previous);
  return gt_hip_check_as(device->hip, code, GT_LAUNCH, "hipModuleLaunchKernel", error);
}

static gt_status hip_mark(gt_device *device, int slot, gt_error *error) {
  int previous;
  if (slot < 0 || slot >= GT_MAX_EVENTS) return gt_fail(error, GT_USAGE, "there is no event slot %d", slot);
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  status = gt_hip_check(device->hip, device->hip->hipEventRecord(device->events[slot], device->stream),
                        "hipEventRecord", error);
  gt_hip_leave(device, previous);
  return status;
}

static gt_status hip_elapsed(gt_device *device, int from, int to, double *microseconds, gt_error *error) {
  const gt_hip_functions *hip = device->hip;
  float milliseconds = 0;
  int previous;
  if (from < 0 || from >= GT_MAX_EVENTS || to < 0 || to >= GT_MAX_EVENTS)
    return gt_fail(error, GT_USAGE, "there is no event slot %d",
                   from < 0 || from >= GT_MAX_EVENTS ? from : to);
  gt_status status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  status = gt_hip_check(hip, hip->hipEventSynchronize(device->events[to]), "hipEventSynchronize", error);
  if (status == GT_OK)
    status =
        gt_hip_check(hip, hip->hipEventElapsedTime(&milliseconds, device->events[from], device->events[to]),
                     "hipEventElapsedTime", error);
  gt_hip_leave(device, previous);
  *microseconds = 1000.0 * milliseconds;
  return status;
}

static gt_status hip_traffic(gt_device *device, gt_traffic *traffic, gt_error *error) {
  if (!device->hip->traffic)
    return gt_fail(error, GT_UNSUPPORTED, "the device does not count the traffic of kernels");
  uint64_t bytes[8];
  device->hip->traffic(bytes);
  *traffic = (gt_traffic){.read = {bytes[0], bytes[1], bytes[2], bytes[3]},
                          .written = {bytes[4], bytes[5], bytes[6], bytes[7]}};
  return GT_OK;
}

static gt_readings hip_readings(gt_device *device) {
  char pci_id[32];
  if (!device->hip->hipDeviceGetPCIBusId ||
      device->hip->hipDeviceGetPCIBusId(pci_id, sizeof pci_id, device->index) != hipSuccess)
    return (gt_readings){0};
  return gt_sensors_amdgpu(GT_SYSFS, pci_id);
}

extern const gt_backend gt_backend_hip;
const gt_backend gt_backend_hip = {
    .version = GT_BACKEND_VERSION,
    .name = "hip",
    .target = GT_TARGET_HIP,
    .compile_options = gt_hip_compile_options,
    .compiles_alone = true,
    .executes = true,
    .count = hip_count,
    .open = hip_open,
    .close = hip_close,
    .fingerprint = gt_hip_fingerprint,
    .compile = hip_compile,
    .load = hip_load,
    .unload = hip_unload,
    .kernel = hip_kernel,
    .kernel_info = hip_kernel_info,
    .allocate = hip_allocate,
    .release = hip_release,
    .free_memory = hip_free_memory,
    .write = hip_write,
    .read = hip_read,
    .copy = hip_copy,
    .fill = hip_fill,
    .launch = hip_launch,
    .synchronize = hip_synchronize,
    .mark = hip_mark,
    .elapsed = hip_elapsed,
    .capture = gt_hip_capture,
    .captured = gt_hip_captured,
    .replay = gt_hip_replay,
    .drop = gt_hip_drop,
    .traffic = hip_traffic,
    .readings = hip_readings,
};

#else
typedef int gt_hip_is_not_built; // ISO C wants a declaration in every file
#endif
