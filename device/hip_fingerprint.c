#ifdef GT_HAVE_HIP

#include "device/hip_device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Only the property structure tells the architecture, and its layout changed between HIP 5 and 6 while the
// headers of the build may be of either: so the name is found in it by its form. The device's own name, which
// comes first and may look like an architecture, is skipped.
static gt_status read_arch(const gt_device *device, char *arch, size_t size, gt_error *error) {
  enum { PROPERTIES_SIZE = 16384, NAME_SIZE = 256 }; // the largest known structure has 1472 bytes
  char *properties = gt_alloc(PROPERTIES_SIZE);
  gt_status status = gt_hip_check(device->hip, (hipError_t)device->hip->properties(properties, device->index),
                                  "hipGetDeviceProperties", error);
  if (status != GT_OK) goto done;
  status = GT_UNSUPPORTED;
  for (const char *at = properties + NAME_SIZE; at < properties + PROPERTIES_SIZE - NAME_SIZE; at++) {
    if (memcmp(at, "gfx", 3) != 0 || !isdigit((unsigned char)at[3])) continue;
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789:+-");
    if (at[length] != 0 || length >= size) continue;
    memcpy(arch, at, length + 1);
    status = GT_OK;
    break;
  }
  if (status != GT_OK) gt_fail(error, status, "hipGetDeviceProperties: no architecture name in its answer");
done:
  free(properties);
  return status;
}

static void print_version(char *text, size_t size, const char *title, int version) {
  snprintf(text, size, "%s %d.%d.%d", title, version / 10000000, version / 100000 % 100, version % 100000);
}

gt_status gt_hip_fingerprint(gt_device *device, gt_fingerprint *fingerprint, gt_error *error) {
  // The numbers of these attributes are the same from HIP 5.0 to 7.
  const struct {
    hipDeviceAttribute_t attribute;
    const char *call;
  } wanted[] = {{hipDeviceAttributeMultiprocessorCount, "hipDeviceGetAttribute(MultiprocessorCount)"},
                {hipDeviceAttributeWarpSize, "hipDeviceGetAttribute(WarpSize)"},
                {hipDeviceAttributeMaxThreadsPerBlock, "hipDeviceGetAttribute(MaxThreadsPerBlock)"},
                {hipDeviceAttributeMaxSharedMemoryPerBlock, "hipDeviceGetAttribute(MaxSharedMemoryPerBlock)"},
                {hipDeviceAttributeL2CacheSize, "hipDeviceGetAttribute(L2CacheSize)"}};
  const gt_hip_functions *hip = device->hip;
  int values[sizeof wanted / sizeof wanted[0]], version, previous;
  size_t free_bytes = 0, total_bytes = 0;

  *fingerprint = (gt_fingerprint){.target = GT_TARGET_HIP};
  snprintf(fingerprint->backend, sizeof fingerprint->backend, "hip");
  gt_status status = read_arch(device, fingerprint->arch, sizeof fingerprint->arch, error);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && status == GT_OK; i++)
    status = gt_hip_check(hip, hip->hipDeviceGetAttribute(&values[i], wanted[i].attribute, device->index),
                          wanted[i].call, error);
  if (status == GT_OK) status = gt_hip_enter(device, &previous, error);
  if (status != GT_OK) return status;
  status = gt_hip_check(hip, hip->hipMemGetInfo(&free_bytes, &total_bytes), "hipMemGetInfo", error);
  gt_hip_leave(device, previous);
  if (status != GT_OK) return status;

  fingerprint->compute_units = values[0];
  fingerprint->wave_size = values[1];
  fingerprint->max_threads_per_block = values[2];
  fingerprint->lds_bytes_per_block = values[3];
  fingerprint->last_level_cache_bytes = values[4];
  fingerprint->memory_bytes = total_bytes;
  // HIP tells the size of the L2 only, not that of the Infinity Cache behind it.
  gt_fingerprint known;
  if (gt_fingerprint_for_arch(fingerprint->arch, &known) &&
      known.last_level_cache_bytes > fingerprint->last_level_cache_bytes)
    fingerprint->last_level_cache_bytes = known.last_level_cache_bytes;

  if (!hip->hipDeviceGetName ||
      hip->hipDeviceGetName(fingerprint->name, sizeof fingerprint->name, device->index) != hipSuccess)
    snprintf(fingerprint->name, sizeof fingerprint->name, "%s", fingerprint->arch);
  if (!hip->hipDeviceGetPCIBusId ||
      hip->hipDeviceGetPCIBusId(fingerprint->pci_id, sizeof fingerprint->pci_id, device->index) != hipSuccess)
    fingerprint->pci_id[0] = 0;
  if (hip->hipDriverGetVersion && hip->hipDriverGetVersion(&version) == hipSuccess)
    print_version(fingerprint->driver, sizeof fingerprint->driver, "HIP driver", version);
  if (hip->hipRuntimeGetVersion && hip->hipRuntimeGetVersion(&version) == hipSuccess)
    print_version(fingerprint->runtime, sizeof fingerprint->runtime, "HIP", version);
  return GT_OK;
}

#else
typedef int gt_hip_fingerprint_is_not_built; // ISO C wants a declaration in every file
#endif
