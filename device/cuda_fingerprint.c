#ifdef GT_HAVE_CUDA

#include "device/cuda_device.h"

#include <stdio.h>
#include <string.h>

// The version of the kernel's driver, which CUDA itself does not tell: "580.65.06". False when it is not to
// be read.
static bool read_driver_version(char *text, size_t size) {
  FILE *file = fopen("/sys/module/nvidia/version", "re");
  if (!file) return false;
  bool read = fgets(text, (int)size, file) != NULL;
  fclose(file);
  if (read) text[strcspn(text, "\n")] = 0;
  return read && text[0];
}

gt_status gt_cuda_fingerprint(gt_device *device, gt_fingerprint *fingerprint, gt_error *error) {
  enum { MAJOR, MINOR, UNITS, WARP, THREADS, SHARED, L2, COUNT };
  static const struct {
    CUdevice_attribute attribute;
    const char *call;
  } wanted[COUNT] = {
      [MAJOR] = {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                 "cuDeviceGetAttribute(COMPUTE_CAPABILITY_MAJOR)"},
      [MINOR] = {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                 "cuDeviceGetAttribute(COMPUTE_CAPABILITY_MINOR)"},
      [UNITS] = {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "cuDeviceGetAttribute(MULTIPROCESSOR_COUNT)"},
      [WARP] = {CU_DEVICE_ATTRIBUTE_WARP_SIZE, "cuDeviceGetAttribute(WARP_SIZE)"},
      [THREADS] = {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, "cuDeviceGetAttribute(MAX_THREADS_PER_BLOCK)"},
      [SHARED] = {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
                  "cuDeviceGetAttribute(MAX_SHARED_MEMORY_PER_BLOCK)"},
      [L2] = {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, "cuDeviceGetAttribute(L2_CACHE_SIZE)"},
  };
  const gt_cuda_functions *cuda = device->cuda;
  int values[COUNT] = {0}, version = 0;
  size_t total_bytes = 0;

  *fingerprint = (gt_fingerprint){.target = GT_TARGET_CUDA};
  gt_status status =
      gt_cuda_check(cuda, cuda->cuDeviceTotalMem(&total_bytes, device->device), "cuDeviceTotalMem", error);
  for (int i = 0; i < COUNT && status == GT_OK; i++)
    status = gt_cuda_check(cuda, cuda->cuDeviceGetAttribute(&values[i], wanted[i].attribute, device->device),
                           wanted[i].call, error);
  if (status != GT_OK) return status;

  snprintf(fingerprint->backend, sizeof fingerprint->backend, "cuda");
  snprintf(fingerprint->arch, sizeof fingerprint->arch, "sm_%d%d", values[MAJOR], values[MINOR]);
  fingerprint->compute_units = values[UNITS];
  fingerprint->wave_size = values[WARP];
  fingerprint->max_threads_per_block = values[THREADS];
  fingerprint->lds_bytes_per_block = values[SHARED];
  fingerprint->last_level_cache_bytes = values[L2];
  fingerprint->memory_bytes = total_bytes;

  if (!cuda->cuDeviceGetName ||
      cuda->cuDeviceGetName(fingerprint->name, sizeof fingerprint->name, device->device) != CUDA_SUCCESS)
    snprintf(fingerprint->name, sizeof fingerprint->name, "%s", fingerprint->arch);
  if (!cuda->cuDeviceGetPCIBusId || cuda->cuDeviceGetPCIBusId(fingerprint->pci_id, sizeof fingerprint->pci_id,
                                                              device->device) != CUDA_SUCCESS)
    fingerprint->pci_id[0] = 0;
  if (cuda->cuDriverGetVersion && cuda->cuDriverGetVersion(&version) == CUDA_SUCCESS)
    snprintf(fingerprint->runtime, sizeof fingerprint->runtime, "CUDA %d.%d", version / 1000,
             version % 1000 / 10);
  if (!read_driver_version(fingerprint->driver, sizeof fingerprint->driver))
    snprintf(fingerprint->driver, sizeof fingerprint->driver, "%s", fingerprint->runtime);
  return GT_OK;
}

#else
typedef int gt_cuda_fingerprint_is_not_built; // ISO C wants a declaration in every file
#endif
