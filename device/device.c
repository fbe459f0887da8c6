// The list of back ends, and opening a device by name.
#include "device/device.h"

#include "device/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GT_HAVE_HIP
extern const gt_backend gt_backend_hip;
#endif
#ifdef GT_HAVE_CUDA
extern const gt_backend gt_backend_cuda;
#endif
#ifdef GT_HAVE_OPENCL
extern const gt_backend gt_backend_opencl;
#endif
extern const gt_backend gt_backend_recorded;

static const gt_backend *const backends[] = {
#ifdef GT_HAVE_HIP
    &gt_backend_hip,
#endif
#ifdef GT_HAVE_CUDA
    &gt_backend_cuda,
#endif
#ifdef GT_HAVE_OPENCL
    &gt_backend_opencl,
#endif
    &gt_backend_recorded,
};
enum { BACKEND_COUNT = sizeof backends / sizeof backends[0] };

// Every back end that a build can have, and what a build without it lacked.
static const struct {
  const char *name, *missing;
} known[] = {
    {"hip", "built without HIP: hip/hip_runtime_api.h was not found; on Debian install libamdhip64-dev and "
            "build again"},
    {"cuda",
     "built without CUDA: cuda.h and nvrtc.h were not found; install the CUDA toolkit and build again"},
    {"opencl",
     "built without OpenCL: CL/cl.h was not found; on Debian install opencl-headers and build again"},
};

size_t gt_backend_count(void) {
  return BACKEND_COUNT;
}

const gt_backend *gt_backend_at(size_t index) {
  return index < BACKEND_COUNT ? backends[index] : NULL;
}

const gt_backend *gt_backend_find(const char *name) {
  for (size_t i = 0; name && i < BACKEND_COUNT; i++)
    if (strcmp(backends[i]->name, name) == 0) return backends[i];
  return NULL;
}

const char *gt_backend_missing(const char *name) {
  if (!name || gt_backend_find(name)) return NULL;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].missing;
  return NULL;
}

// Completes *open for a device that its back end has opened; closes it again on failure.
static gt_status complete(gt_open_device *open, const gt_backend *backend, gt_device *device,
                          const char *name, bool compiler, gt_error *error) {
  *open = (gt_open_device){.backend = backend, .device = device};
  snprintf(open->name, sizeof open->name, "%s", name);
  gt_status status = backend->fingerprint(device, &open->fingerprint, error);
  if (status != GT_OK)
    gt_device_close(open);
  else if (compiler && backend->compiler)
    backend->compiler(open->fingerprint.compiler, sizeof open->fingerprint.compiler);
  return status;
}

static gt_status open_index(gt_open_device *open, const gt_backend *backend, int index, bool compiler,
                            gt_error *error) {
  gt_device *device = NULL;
  gt_status status = backend->open(index, &device, error);
  if (status != GT_OK) return status;
  char name[sizeof open->name];
  snprintf(name, sizeof name, "%s:%d", backend->name, index);
  return complete(open, backend, device, name, compiler, error);
}

// Opens the first device of a back end that is a CPU or is not, as asked. GT_NO_DEVICE where it has only the
// other kind.
static gt_status open_first(gt_open_device *open, const gt_backend *backend, bool cpu, bool compiler,
                            gt_error *error) {
  int count = 0;
  gt_status status = backend->count(&count, error);
  if (status != GT_OK) return status;
  gt_fail(error, GT_NO_DEVICE, "its library is there, but reports no %s", cpu ? "CPU" : "GPU");
  // The reason of a device that does not open stays in *error: it says more than "no GPU".
  for (int index = 0; index < count; index++) {
    if (open_index(open, backend, index, compiler, error) != GT_OK) continue;
    if (open->fingerprint.is_cpu == cpu) return GT_OK;
    gt_device_close(open);
  }
  return GT_NO_DEVICE;
}

static gt_status open_auto(gt_open_device *open, bool compiler, gt_error *error) {
  gt_buffer reasons = {0};
  gt_status status = GT_NO_DEVICE;
  for (int cpu = 0; cpu <= 1 && status != GT_OK; cpu++)
    for (size_t i = 0; i < sizeof known / sizeof known[0] && status != GT_OK; i++) {
      const gt_backend *backend = gt_backend_find(known[i].name);
      gt_error reason = {0};
      if (backend)
        status = open_first(open, backend, cpu, compiler, &reason);
      else
        gt_fail(&reason, GT_NO_DEVICE, "%s", known[i].missing);
      // Both passes meet the same obstacles: they are told once.
      if (status != GT_OK && !cpu) gt_buffer_print(&reasons, "; %s: %.280s", known[i].name, reason.text);
    }
  if (status != GT_OK)
    status = gt_fail(error, GT_NO_DEVICE, "no device found%s", reasons.data ? reasons.data : "");
  gt_buffer_free(&reasons);
  return status;
}

// A device number: digits only. -1 when it is none.
static int parse_index(const char *text) {
  size_t length = strlen(text);
  if (length < 1 || length > 4 || strspn(text, "0123456789") != length) return -1;
  return atoi(text);
}

static gt_status open_named(const char *name, gt_open_device *open, bool compiler, gt_error *error) {
  *open = (gt_open_device){0};
  if (!name) name = "";
  if (strcmp(name, "auto") == 0) return open_auto(open, compiler, error);

  const char *colon = strchr(name, ':');
  const char *rest = colon ? colon + 1 : "0";
  char backend_name[16];
  snprintf(backend_name, sizeof backend_name, "%.*s", (int)strcspn(name, ":"), name);

  const char *missing = gt_backend_missing(backend_name);
  if (missing) return gt_fail(error, GT_NO_DEVICE, "no device \"%s\": %s", name, missing);
  const gt_backend *backend = gt_backend_find(backend_name);

  if (backend == &gt_backend_recorded && colon && *rest) {
    gt_device *device = NULL;
    gt_status status = gt_recorded_open(rest, &device, error);
    return status == GT_OK ? complete(open, backend, device, name, compiler, error) : status;
  }
  int index = parse_index(rest);
  if (!backend || backend == &gt_backend_recorded || index < 0)
    return gt_fail(error, GT_USAGE,
                   "\"%s\" is no device name: use auto, hip:0, cuda:0, opencl:0 or recorded:FILE", name);
  return open_index(open, backend, index, compiler, error);
}

gt_status gt_device_open(const char *name, gt_open_device *open, gt_error *error) {
  return open_named(name, open, true, error);
}

gt_status gt_device_attach(const char *name, void *queue, gt_open_device *open, gt_error *error) {
  bool current = name && (strcmp(name, "hip") == 0 || strcmp(name, "cuda") == 0);
  *open = (gt_open_device){0};
  if (!queue && !current) return open_named(name ? name : "auto", open, false, error);
  if (queue && name && strcmp(name, "opencl") != 0)
    return gt_fail(error, GT_USAGE, "a command queue is of OpenCL, and the device \"%s\" is not", name);

  const char *of = queue ? "opencl" : name, *missing = gt_backend_missing(of);
  if (missing) return gt_fail(error, GT_NO_DEVICE, "no device \"%s\": %s", of, missing);
  const gt_backend *backend = gt_backend_find(of);
  gt_device *device = NULL;
  int index = 0;
  gt_status status = backend->attach(queue, &device, &index, error);
  if (status != GT_OK) return status;
  char resolved[sizeof open->name];
  snprintf(resolved, sizeof resolved, "%s:%d", of, index);
  return complete(open, backend, device, resolved, false, error);
}

void gt_device_close(gt_open_device *open) {
  if (open->device) open->backend->close(open->device);
  *open = (gt_open_device){0};
}
