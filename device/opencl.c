// The OpenCL back end: memory, launches and times. Device memory is coarse-grained shared virtual memory, so
// that an address is a plain number that kernels and byte arithmetic agree on.
#ifdef GT_HAVE_OPENCL
#include "device/opencl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256

extern const gt_backend gt_backend_opencl;

// --- errors --------------------------------------------------------------------------------------

static const char *error_name(cl_int code) {
  switch (code) {
#define NAME(name) \
  case name:       \
    return #name;
    NAME(CL_SUCCESS)
    NAME(CL_DEVICE_NOT_FOUND)
    NAME(CL_DEVICE_NOT_AVAILABLE)
    NAME(CL_COMPILER_NOT_AVAILABLE)
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    NAME(CL_OUT_OF_RESOURCES)
    NAME(CL_OUT_OF_HOST_MEMORY)
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
    NAME(CL_MEM_COPY_OVERLAP)
    NAME(CL_BUILD_PROGRAM_FAILURE)
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    NAME(CL_COMPILE_PROGRAM_FAILURE)
    NAME(CL_LINKER_NOT_AVAILABLE)
    NAME(CL_LINK_PROGRAM_FAILURE)
    NAME(CL_INVALID_VALUE)
    NAME(CL_INVALID_DEVICE_TYPE)
    NAME(CL_INVALID_PLATFORM)
    NAME(CL_INVALID_DEVICE)
    NAME(CL_INVALID_CONTEXT)
    NAME(CL_INVALID_QUEUE_PROPERTIES)
    NAME(CL_INVALID_COMMAND_QUEUE)
    NAME(CL_INVALID_BINARY)
    NAME(CL_INVALID_BUILD_OPTIONS)
    NAME(CL_INVALID_PROGRAM)
    NAME(CL_INVALID_PROGRAM_EXECUTABLE)
    NAME(CL_INVALID_KERNEL_NAME)
    NAME(CL_INVALID_KERNEL_DEFINITION)
    NAME(CL_INVALID_KERNEL)
    NAME(CL_INVALID_ARG_INDEX)
    NAME(CL_INVALID_ARG_VALUE)
    NAME(CL_INVALID_ARG_SIZE)
    NAME(CL_INVALID_KERNEL_ARGS)
    NAME(CL_INVALID_WORK_DIMENSION)
    NAME(CL_INVALID_WORK_GROUP_SIZE)
    NAME(CL_INVALID_WORK_ITEM_SIZE)
    NAME(CL_INVALID_GLOBAL_OFFSET)
    NAME(CL_INVALID_EVENT_WAIT_LIST)
    NAME(CL_INVALID_EVENT)
    NAME(CL_INVALID_OPERATION)
    NAME(CL_INVALID_BUFFER_SIZE)
    NAME(CL_INVALID_GLOBAL_WORK_SIZE)
    NAME(CL_INVALID_PROPERTY)
    NAME(CL_PLATFORM_NOT_FOUND_KHR)
#undef NAME
  default:
    return "unknown error";
  }
}

gt_status gt_opencl_fail(gt_error *error, gt_status otherwise, cl_int code, const char *what) {
  gt_status status = otherwise;
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY) status = GT_OUT_OF_MEMORY;
  if (code == CL_DEVICE_NOT_AVAILABLE) status = GT_DEVICE_LOST;
  return gt_fail(error, status, "opencl: %s: %s (%d)", what, error_name(code), code);
}

// --- devices -------------------------------------------------------------------------------------

static gt_status opencl_count(int *count, gt_error *error) {
  gt_opencl cl;
  cl_platform_id platform;
  cl_device_id device;
  *count = 0;
  gt_status status = gt_opencl_open_library(&cl, error);
  return status ? status : gt_opencl_find(&cl, -1, &platform, &device, count, error);
}

static void opencl_close(gt_device *device) {
  if (!device) return;
  if (device->queue) device->cl.clFinish(device->queue);
  for (int i = 0; i < GT_MAX_EVENTS; i++)
    if (device->marks[i]) device->cl.clReleaseEvent(device->marks[i]);
  for (size_t i = 0; i < device->n_allocations; i++)
    device->cl.clSVMFree(device->context, device->allocations[i].base);
  if (device->queue) device->cl.clReleaseCommandQueue(device->queue);
  if (device->context) device->cl.clReleaseContext(device->context);
  free(device->allocations);
  pthread_mutex_destroy(&device->arguments);
  free(device);
}

static gt_device *new_device(void) {
  gt_device *device = gt_alloc(sizeof *device);
  pthread_mutex_init(&device->arguments, NULL);
  return device;
}

// What follows from device->platform and device->id.
static gt_status identify(gt_device *device, gt_error *error) {
  gt_status status =
      gt_opencl_identify(&device->cl, device->platform, device->id, &device->fingerprint, error);
  cl_device_fp_config floats = 0;
  if (status) return status;
  device->cl.clGetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
  device->rounds_division = floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  return GT_OK;
}

static gt_status opencl_open(int index, gt_device **result, gt_error *error) {
  *result = NULL;
  int count;
  cl_int code = CL_SUCCESS;
  gt_device *device = new_device();
  gt_status status = gt_opencl_open_library(&device->cl, error);
  if (!status) status = gt_opencl_find(&device->cl, index, &device->platform, &device->id, &count, error);
  if (!status && !device->id)
    status = gt_fail(error, GT_NO_DEVICE, "opencl: there is no device %d (devices found: %d)", index, count);
  if (!status) status = identify(device, error);
  if (status) goto done;

  const cl_context_properties of_platform[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->platform,
                                               0};
  const cl_queue_properties profiled[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  device->context = device->cl.clCreateContext(of_platform, 1, &device->id, NULL, NULL, &code);
  if (device->context)
    device->queue =
        device->cl.clCreateCommandQueueWithProperties(device->context, device->id, profiled, &code);
  if (!device->queue) status = gt_opencl_fail(error, GT_NO_DEVICE, code, "opening a device");

done:
  if (status)
    opencl_close(device);
  else
    *result = device;
  return status;
}

// The number of a device, or -1 when it is none of those that are counted (an accelerator).
static int index_of(const gt_device *device) {
  cl_platform_id platform;
  cl_device_id id;
  int count = 0;
  if (gt_opencl_find(&device->cl, -1, &platform, &id, &count, NULL)) return -1;
  for (int i = 0, n; i < count; i++)
    if (!gt_opencl_find(&device->cl, i, &platform, &id, &n, NULL) && id == device->id) return i;
  return -1;
}

static gt_status opencl_attach(void *queue, gt_device **result, int *index, gt_error *error) {
  *result = NULL;
  if (!queue)
    return gt_fail(error, GT_UNSUPPORTED, "opencl: there is no current device: name one, or a queue");
  cl_command_queue theirs = queue;
  gt_device *device = new_device();
  cl_command_queue_properties properties = 0;
  cl_int code = CL_SUCCESS;
  gt_status status = gt_opencl_open_library(&device->cl, error);
  if (status) goto done;
  code = device->cl.clGetCommandQueueInfo(theirs, CL_QUEUE_DEVICE, sizeof device->id, &device->id, NULL);
  if (code == CL_SUCCESS)
    code =
        device->cl.clGetCommandQueueInfo(theirs, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (code == CL_SUCCESS)
    code = device->cl.clGetCommandQueueInfo(theirs, CL_QUEUE_CONTEXT, sizeof device->context,
                                            &device->context, NULL);
  if (code == CL_SUCCESS)
    code = device->cl.clGetDeviceInfo(device->id, CL_DEVICE_PLATFORM, sizeof device->platform,
                                      &device->platform, NULL);
  if (code != CL_SUCCESS) {
    device->context = NULL; // not retained yet
    status = gt_opencl_fail(error, GT_USAGE, code, "asking a command queue for its device");
    goto done;
  }
  device->cl.clRetainContext(device->context);
  device->cl.clRetainCommandQueue(theirs);
  device->queue = theirs;
  if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    status = gt_fail(error, GT_UNSUPPORTED,
                     "opencl: the command queue is out of order; kernels need one in order");
  if (!status) status = identify(device, error);
  *index = index_of(device);
done:
  if (status)
    opencl_close(device);
  else
    *result = device;
  return status;
}

static gt_status opencl_fingerprint(gt_device *device, gt_fingerprint *fingerprint, gt_error *error) {
  (void)error;
  *fingerprint = device->fingerprint;
  return GT_OK;
}

// --- memory --------------------------------------------------------------------------------------

static gt_status opencl_allocate(gt_device *device, size_t bytes, gt_address *address, gt_error *error) {
  *address = 0;
  size_t size = bytes < SIZE_MAX - ALIGNMENT ? bytes + ALIGNMENT : bytes;
  void *base = device->cl.clSVMAlloc(device->context, CL_MEM_READ_WRITE, size, 0);
  if (!base)
    return gt_fail(error, GT_OUT_OF_MEMORY, "opencl: no %zu bytes of memory (%" PRIu64 " are in use)", bytes,
                   device->allocated_bytes);
  *address = ((gt_address)(uintptr_t)base + ALIGNMENT - 1) & ~(gt_address)(ALIGNMENT - 1);
  device->allocations =
      gt_realloc(device->allocations, (device->n_allocations + 1) * sizeof *device->allocations);
  device->allocations[device->n_allocations++] = (gt_opencl_allocation){base, *address, size};
  device->allocated_bytes += size;
  return GT_OK;
}

static void opencl_release(gt_device *device, gt_address address) {
  for (size_t i = 0; address && i < device->n_allocations; i++) {
    gt_opencl_allocation *allocation = &device->allocations[i];
    if (allocation->address != address) continue;
    // clSVMFree does not wait for commands that use the memory.
    device->cl.clFinish(device->queue);
    device->cl.clSVMFree(device->context, allocation->base);
    device->allocated_bytes -= allocation->bytes;
    *allocation = device->allocations[--device->n_allocations];
    return;
  }
}

// What the system could give to a program on the CPU, in bytes.
static uint64_t available_bytes(void) {
  FILE *file = fopen("/proc/meminfo", "r");
  char line[128];
  uint64_t kilobytes = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1) break;
  if (file) fclose(file);
  return kilobytes ? kilobytes * 1024 : UINT64_MAX;
}

static gt_status opencl_free_memory(gt_device *device, uint64_t *bytes, gt_error *error) {
  (void)error;
  uint64_t total = device->fingerprint.memory_bytes;
  *bytes = total > device->allocated_bytes ? total - device->allocated_bytes : 0;
  size_t kilobytes[2] = {0}; // all, and the largest block
  if (device->fingerprint.is_cpu) {
    uint64_t available = available_bytes();
    if (available < *bytes) *bytes = available;
  } else if (device->cl.clGetDeviceInfo(device->id, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof kilobytes,
                                        kilobytes, NULL) == CL_SUCCESS) {
    *bytes = (uint64_t)kilobytes[0] * 1024;
  }
  return GT_OK;
}

static void *pointer(gt_address address) {
  return (void *)(uintptr_t)address;
}

static gt_status transfer(gt_device *device, void *to, const void *from, size_t bytes, cl_bool wait,
                          const char *what, gt_error *error) {
  if (bytes == 0) return GT_OK;
  cl_int code = device->cl.clEnqueueSVMMemcpy(device->queue, wait, to, from, bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_FAILED, code, what);
}

static gt_status opencl_write(gt_device *device, gt_address to, const void *from, size_t bytes,
                              gt_error *error) {
  return transfer(device, pointer(to), from, bytes, CL_TRUE, "writing memory", error);
}

static gt_status opencl_read(gt_device *device, void *to, gt_address from, size_t bytes, gt_error *error) {
  return transfer(device, to, pointer(from), bytes, CL_TRUE, "reading memory", error);
}

static gt_status opencl_copy(gt_device *device, gt_address to, gt_address from, size_t bytes,
                             gt_error *error) {
  return transfer(device, pointer(to), pointer(from), bytes, CL_FALSE, "copying memory", error);
}

static gt_status opencl_fill(gt_device *device, gt_address to, uint32_t word, size_t bytes, gt_error *error) {
  if (bytes % sizeof word || to % sizeof word)
    return gt_fail(error, GT_USAGE, "opencl: a fill is of whole, aligned words of 4 bytes");
  if (bytes == 0) return GT_OK;
  cl_int code =
      device->cl.clEnqueueSVMMemFill(device->queue, pointer(to), &word, sizeof word, bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_FAILED, code, "filling memory");
}

// --- launches and times --------------------------------------------------------------------------

static gt_status set_arguments(gt_device *device, gt_kernel *kernel, const gt_arguments *arguments,
                               gt_error *error) {
  int given = arguments->n_pointers + arguments->n_integers;
  if (given != (int)kernel->n_arguments)
    return gt_fail(error, GT_LAUNCH, "opencl: kernel '%s' takes %u arguments, not %d", kernel->name,
                   kernel->n_arguments, given);
  cl_uint at = 0;
  cl_int code = CL_SUCCESS;
  for (int i = 0; code == CL_SUCCESS && i < arguments->n_pointers; i++)
    code = device->cl.clSetKernelArgSVMPointer(kernel->kernel, at++, pointer(arguments->pointers[i]));
  for (int i = 0; code == CL_SUCCESS && i < arguments->n_integers; i++) {
    cl_long integer = arguments->integers[i];
    code = device->cl.clSetKernelArg(kernel->kernel, at++, sizeof integer, &integer);
  }
  if (code == CL_SUCCESS) return GT_OK;
  char what[128];
  snprintf(what, sizeof what, "argument %u of kernel '%.64s'", at - 1, kernel->name);
  return gt_opencl_fail(error, GT_LAUNCH, code, what);
}

static gt_status opencl_launch_on(gt_device *device, void *stream, gt_kernel *kernel, const uint32_t grid[3],
                                  const uint32_t block[3], const gt_arguments *arguments, gt_error *error) {
  size_t global[3], local[3], threads = 1;
  for (int i = 0; i < 3; i++) {
    if (grid[i] == 0 || block[i] == 0)
      return gt_fail(error, GT_LAUNCH, "opencl: kernel '%s': a grid or block of size 0", kernel->name);
    local[i] = block[i];
    global[i] = (size_t)grid[i] * block[i];
    // Bounded at each step, so that the product cannot overflow.
    threads = threads <= UINT32_MAX ? threads * block[i] : threads;
  }
  if (threads > (size_t)kernel->info.max_threads)
    return gt_fail(error, GT_LAUNCH, "opencl: kernel '%s': %zu threads per block are more than %d",
                   kernel->name, threads, kernel->info.max_threads);
  // A kernel object has its arguments in it until it is enqueued.
  cl_command_queue queue = stream ? stream : device->queue;
  cl_int code = CL_SUCCESS;
  pthread_mutex_lock(&device->arguments);
  gt_status status = set_arguments(device, kernel, arguments, error);
  if (!status)
    code = device->cl.clEnqueueNDRangeKernel(queue, kernel->kernel, 3, NULL, global, local, 0, NULL, NULL);
  pthread_mutex_unlock(&device->arguments);
  if (status) return status;
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_LAUNCH, code, "launching a kernel");
}

static gt_status opencl_launch(gt_device *device, gt_kernel *kernel, const uint32_t grid[3],
                               const uint32_t block[3], const gt_arguments *arguments, gt_error *error) {
  return opencl_launch_on(device, NULL, kernel, grid, block, arguments, error);
}

static gt_status opencl_kernel_info(gt_device *device, gt_kernel *kernel, gt_kernel_info *info,
                                    gt_error *error) {
  (void)device, (void)error;
  *info = kernel->info;
  return GT_OK;
}

static gt_status opencl_synchronize(gt_device *device, gt_error *error) {
  cl_int code = device->cl.clFinish(device->queue);
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_LAUNCH, code, "waiting for the device");
}

static gt_status opencl_mark(gt_device *device, int slot, gt_error *error) {
  if (slot < 0 || slot >= GT_MAX_EVENTS) return gt_fail(error, GT_USAGE, "opencl: there is no mark %d", slot);
  if (device->marks[slot]) device->cl.clReleaseEvent(device->marks[slot]);
  device->marks[slot] = NULL;
  cl_int code = device->cl.clEnqueueMarkerWithWaitList(device->queue, 0, NULL, &device->marks[slot]);
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_FAILED, code, "marking a point in time");
}

// When a mark was reached, in nanoseconds of the device's clock.
static gt_status time_of(gt_device *device, int slot, cl_ulong *nanoseconds, gt_error *error) {
  if (slot < 0 || slot >= GT_MAX_EVENTS || !device->marks[slot])
    return gt_fail(error, GT_USAGE, "opencl: mark %d was not set", slot);
  cl_int code = device->cl.clWaitForEvents(1, &device->marks[slot]);
  if (code == CL_SUCCESS)
    code = device->cl.clGetEventProfilingInfo(device->marks[slot], CL_PROFILING_COMMAND_END,
                                              sizeof *nanoseconds, nanoseconds, NULL);
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_LAUNCH, code, "reading a time");
}

static gt_status opencl_elapsed(gt_device *device, int from, int to, double *microseconds, gt_error *error) {
  cl_ulong start, end;
  gt_status status = time_of(device, from, &start, error);
  if (!status) status = time_of(device, to, &end, error);
  if (!status) *microseconds = ((double)end - (double)start) * 1e-3;
  return status;
}

const gt_backend gt_backend_opencl = {
    .version = GT_BACKEND_VERSION,
    .name = "opencl",
    .target = GT_TARGET_OPENCL,
    .compile_options = GT_OPENCL_OPTIONS,
    .executes = true,
    .count = opencl_count,
    .open = opencl_open,
    .close = opencl_close,
    .attach = opencl_attach,
    .fingerprint = opencl_fingerprint,
    .compile = gt_opencl_compile,
    .load = gt_opencl_load,
    .unload = gt_opencl_unload,
    .kernel = gt_opencl_kernel,
    .kernel_info = opencl_kernel_info,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .free_memory = opencl_free_memory,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .fill = opencl_fill,
    .launch = opencl_launch,
    .launch_on = opencl_launch_on,
    .synchronize = opencl_synchronize,
    .mark = opencl_mark,
    .elapsed = opencl_elapsed,
};
#endif
