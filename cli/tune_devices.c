#include "cli/tune_devices.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/command.h"
#include "cli/devices.h"
#include "device/fingerprint.h"
#include "tuner/wire.h"

static void add(gt_device_names *names, const char *name, size_t length) {
  names->names = gt_realloc(names->names, (names->count + 1) * sizeof *names->names);
  names->names[names->count++] = gt_print("%.*s", (int)length, name);
}

void gt_device_names_free(gt_device_names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->names[i]);
  free(names->names);
  *names = (gt_device_names){0};
}

// --- all
// -----------------------------------------------------------------------------------------------------

typedef struct {
  gt_device_names *names;
  char pci_ids[256][32]; // of the GPUs so far
  size_t gpus;
  char cpu[64]; // the first one
  gt_buffer reasons;
} search;

// The same GPU may be there through several back ends: it is known by its address, or where OpenCL does not tell that, taken
// for one that is in the list.
static bool is_known(const search *s, const gt_fingerprint *print) {
  for (size_t i = 0; i < s->gpus; i++)
    if (strcmp(s->pci_ids[i], print->pci_id) == 0 && *print->pci_id) return true;
  return s->gpus && !*print->pci_id && strcmp(print->backend, "opencl") == 0;
}

static void look_at(search *s, const json_t *device) {
  const char *name = gt_wire_string(device, "name"), *trouble = gt_wire_string(device, "error");
  gt_fingerprint print = {0};
  if (*trouble || !gt_wire_read_fingerprint(json_object_get(device, "fingerprint"), &print)) {
    gt_complain("%s is left out: %s", name, *trouble ? trouble : "it told no fingerprint");
  } else if (print.is_cpu) {
    if (!*s->cpu) snprintf(s->cpu, sizeof s->cpu, "%s", name);
  } else if (!is_known(s, &print) && s->gpus < sizeof s->pci_ids / sizeof s->pci_ids[0]) {
    memcpy(s->pci_ids[s->gpus++], print.pci_id, sizeof print.pci_id);
    add(s->names, name, strlen(name));
  }
}

static gt_status find_all(gt_device_names *names, gt_error *error) {
  static const char *const backends[] = {"hip", "cuda", "opencl"};
  search *s = gt_alloc(sizeof *s);
  s->names = names;
  for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
    json_t *backend = gt_devices_ask(backends[i]), *device;
    const char *reason = gt_wire_string(backend, "reason");
    if (*reason) gt_buffer_print(&s->reasons, "; %s: %.280s", backends[i], reason);
    size_t k;
    json_array_foreach(json_object_get(backend, "devices"), k, device) look_at(s, device);
    json_decref(backend);
  }
  if (!names->count && *s->cpu) add(names, s->cpu, strlen(s->cpu));
  gt_status status = GT_OK;
  if (!names->count)
    status = gt_fail(error, GT_NO_DEVICE, "no device found%s", s->reasons.data ? s->reasons.data : "");
  gt_buffer_free(&s->reasons);
  free(s);
  return status;
}

// --- a list
// --------------------------------------------------------------------------------------------------

// Where a list's next name begins: behind a comma, with the name of a back end. Other commas are part of a file's name.
static const char *next_name(const char *text) {
  static const char *const words[] = {"hip", "cuda", "opencl", "recorded", "auto", "all"};
  for (const char *comma = text; (comma = strchr(comma, ',')); comma++)
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
      size_t length = strlen(words[i]);
      if (strncmp(comma + 1, words[i], length) == 0 && strchr(":,", comma[1 + length])) return comma + 1;
    }
  return NULL;
}

static gt_status check_list(const gt_device_names *names, gt_error *error) {
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->names[i];
    if (names->count > 1 && (strcmp(name, "auto") == 0 || strcmp(name, "all") == 0))
      return gt_fail(error, GT_USAGE, "tune: --device %s is not part of a list of devices", name);
    for (size_t k = 0; k < i; k++)
      if (strcmp(names->names[k], name) == 0)
        return gt_fail(error, GT_USAGE, "tune: --device names %s twice", name);
  }
  return GT_OK;
}

gt_status gt_device_names_read(const char *text, gt_device_names *names, gt_error *error) {
  *names = (gt_device_names){.found = strcmp(text, "all") == 0};
  if (names->found) return find_all(names, error);
  for (const char *name = text, *next; name; name = next) {
    next = next_name(name);
    add(names, name, next ? (size_t)(next - name) - 1 : strlen(name));
  }
  return check_list(names, error);
}
