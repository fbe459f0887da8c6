// OpenCL's library, its devices and their fingerprints.
#ifdef GT_HAVE_OPENCL
#include "device/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/library.h"

// A block of a thousand threads is as large as a GPU takes; a CPU's larger ones would only make the search
// space longer.
#define MAX_THREADS 1024

// Not in every version of the headers. Source: cl_khr_pci_bus_info.
#define DEVICE_PCI_BUS_INFO 0x410F
typedef struct {
  cl_uint domain, bus, device, function;
} pci_bus_info;

gt_status gt_opencl_open_library(gt_opencl *cl, gt_error *error) {
  static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
  static const char *const folders[] = {"/opt/rocm/lib", "/usr/local/cuda/lib64", NULL};
  static const gt_library library = {"the OpenCL loader", names, folders};
  static const gt_symbol symbols[] = {
#define X(name) {#name, NULL, offsetof(gt_opencl, name), true},
      GT_OPENCL_SYMBOLS(X)
#undef X
  };
  return gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], cl, error);
}

// Counts the devices of a type on one platform, and takes the one of *index if it is among them (*index falls
// below 0).
static void look(const gt_opencl *cl, cl_platform_id platform, cl_device_type type, int *index,
                 cl_platform_id *found_platform, cl_device_id *found, int *count) {
  cl_uint n = 0;
  if (cl->clGetDeviceIDs(platform, type, 0, NULL, &n) != CL_SUCCESS || n == 0) return;
  cl_device_id *devices = gt_alloc(n * sizeof *devices);
  if (cl->clGetDeviceIDs(platform, type, n, devices, NULL) == CL_SUCCESS) {
    if (*index >= 0 && *index < (int)n) {
      *found = devices[*index];
      *found_platform = platform;
    }
    *index = *index < 0 ? *index : *index - (int)n;
    *count += (int)n;
  }
  free(devices);
}

gt_status gt_opencl_find(const gt_opencl *cl, int index, cl_platform_id *platform, cl_device_id *device,
                         int *count, gt_error *error) {
  static const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU};
  *count = 0;
  *device = NULL;
  cl_uint n = 0;
  cl_int code = cl->clGetPlatformIDs(0, NULL, &n);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || n == 0) return GT_OK;
  if (code != CL_SUCCESS) return gt_opencl_fail(error, GT_NO_DEVICE, code, "listing platforms");
  cl_platform_id *platforms = gt_alloc(n * sizeof *platforms);
  code = cl->clGetPlatformIDs(n, platforms, NULL);
  for (size_t i = 0; code == CL_SUCCESS && i < sizeof types / sizeof types[0]; i++)
    for (cl_uint j = 0; j < n; j++) look(cl, platforms[j], types[i], &index, platform, device, count);
  free(platforms);
  return code == CL_SUCCESS ? GT_OK : gt_opencl_fail(error, GT_NO_DEVICE, code, "listing platforms");
}

// --- fingerprint ---------------------------------------------------------------------------------

// A text that a device tells, without the spaces around it. Empty when it does not tell.
static void text_of(const gt_opencl *cl, cl_device_id device, cl_device_info what, char *text, size_t size) {
  char told[1024] = "";
  if (cl->clGetDeviceInfo(device, what, sizeof told - 1, told, NULL) != CL_SUCCESS) told[0] = 0;
  const char *start = told + strspn(told, " ");
  snprintf(text, size, "%.*s", (int)size - 1, start);
  for (size_t length = strlen(text); length && text[length - 1] == ' '; length--) text[length - 1] = 0;
}

// A number that a device tells, or `otherwise`. The value may be narrower than 64 bits, lowest byte first.
static uint64_t number_of(const gt_opencl *cl, cl_device_id device, cl_device_info what, uint64_t otherwise) {
  uint64_t value = 0;
  return cl->clGetDeviceInfo(device, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : otherwise;
}

// GPUs are named by their architecture or product. A CPU is what code is generated for: PoCL ends its device
// version with that, "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512".
static void name_arch(const gt_opencl *cl, cl_device_id device, gt_fingerprint *fingerprint) {
  char version[256];
  text_of(cl, device, CL_DEVICE_VERSION, version, sizeof version);
  const char *target = strstr(version, "HSTR: ");
  target = target ? target + strlen("HSTR: ") : fingerprint->name;
  if (strncmp(target, "pthread-", 8) == 0 || strncmp(target, "cpu-", 4) == 0)
    target = strchr(target, '-') + 1;
  snprintf(fingerprint->arch, sizeof fingerprint->arch, "%s%.100s", fingerprint->is_cpu ? "cpu-" : "",
           fingerprint->is_cpu ? target : fingerprint->name);
  for (char *c = fingerprint->arch; *c; c++)
    if (*c == ' ' || *c == '(' || *c == ')') *c = '_';
}

static void name_bus(const gt_opencl *cl, cl_device_id device, gt_fingerprint *fingerprint) {
  pci_bus_info bus;
  if (cl->clGetDeviceInfo(device, DEVICE_PCI_BUS_INFO, sizeof bus, &bus, NULL) != CL_SUCCESS) return;
  snprintf(fingerprint->pci_id, sizeof fingerprint->pci_id, "%04x:%02x:%02x.%x", bus.domain, bus.bus,
           bus.device, bus.function);
}

gt_status gt_opencl_identify(const gt_opencl *cl, cl_platform_id platform, cl_device_id device,
                             gt_fingerprint *fingerprint, gt_error *error) {
  *fingerprint = (gt_fingerprint){.backend = "opencl", .target = GT_TARGET_OPENCL};
  text_of(cl, device, CL_DEVICE_NAME, fingerprint->name, sizeof fingerprint->name);
  if ((number_of(cl, device, CL_DEVICE_SVM_CAPABILITIES, 0) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0)
    return gt_fail(error, GT_UNSUPPORTED,
                   "opencl: %s has no coarse-grained shared virtual memory (OpenCL 2.0), which kernels need",
                   fingerprint->name);
  fingerprint->is_cpu = number_of(cl, device, CL_DEVICE_TYPE, 0) & CL_DEVICE_TYPE_CPU;
  name_arch(cl, device, fingerprint);
  name_bus(cl, device, fingerprint);
  text_of(cl, device, CL_DRIVER_VERSION, fingerprint->driver, sizeof fingerprint->driver);
  text_of(cl, device, CL_DEVICE_OPENCL_C_VERSION, fingerprint->compiler, sizeof fingerprint->compiler);
  if (cl->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof fingerprint->runtime, fingerprint->runtime,
                            NULL) != CL_SUCCESS) {
    // It has room for less than the text: its name and beginning are enough to tell versions apart.
    char version[1024] = "";
    cl->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
    snprintf(fingerprint->runtime, sizeof fingerprint->runtime, "%.127s", version);
  }

  fingerprint->compute_units = (int)number_of(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  fingerprint->memory_bytes = number_of(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  fingerprint->last_level_cache_bytes = (int64_t)number_of(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0);
  fingerprint->lds_bytes_per_block = (int64_t)number_of(cl, device, CL_DEVICE_LOCAL_MEM_SIZE, 0);
  uint64_t threads = number_of(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1);
  fingerprint->max_threads_per_block = threads < MAX_THREADS ? (int)threads : MAX_THREADS;
  fingerprint->wave_size = 1;
  if (!fingerprint->is_cpu) {
    uint64_t warp = number_of(cl, device, CL_DEVICE_WARP_SIZE_NV, 32);
    fingerprint->wave_size = (int)number_of(cl, device, CL_DEVICE_WAVEFRONT_WIDTH_AMD, warp);
  }
  return GT_OK;
}
#endif
