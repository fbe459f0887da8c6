// gathertune devices: every back end with its devices, or why it has none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/devices.h"

#include "cli/child.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/table.h"
#include "device/device.h"
#include "tuner/wire.h"

static const double seconds_to_answer = 60; // a driver that has not answered by then has hung

// --- in a process of its own, since a driver may crash or hang
// ---------------------------------------------------

// One device, {"name": "hip:0", "fingerprint": {...}} or {"name": ..., "error": ...}.
static json_t *describe_device(const char *backend, int index) {
  char name[32];
  snprintf(name, sizeof name, "%s:%d", backend, index);
  gt_open_device open = {0};
  gt_error error = {0};
  if (gt_device_open(name, &open, &error) != GT_OK)
    return json_pack("{s:s, s:s}", "name", name, "error", error.text);
  json_t *result =
      json_pack("{s:s, s:o}", "name", name, "fingerprint", gt_wire_fingerprint(&open.fingerprint));
  gt_device_close(&open);
  return result;
}

static json_t *describe_backend(const char *name) {
  const char *missing = gt_backend_missing(name);
  const gt_backend *backend = gt_backend_find(name);
  json_t *devices = json_array();
  json_t *result = json_pack("{s:s, s:o}", "backend", name, "devices", devices);
  gt_error error = {0};
  int count = 0;
  if (missing || !backend)
    json_object_set_new(result, "reason", json_string(missing ? missing : "not in this build"));
  else if (backend->count(&count, &error) != GT_OK)
    json_object_set_new(result, "reason", json_string(error.text));
  else if (count == 0)
    json_object_set_new(result, "reason", json_string("its runtime reports no devices"));
  for (int i = 0; i < count; i++) json_array_append_new(devices, describe_device(name, i));
  return result;
}

static void answer(const void *backend, gt_buffer *text) {
  json_t *json = describe_backend(backend);
  char *dump = json_dumps(json, JSON_COMPACT);
  if (dump) gt_buffer_append(text, dump, strlen(dump));
  free(dump);
  json_decref(json);
}

// --- the parent
// ----------------------------------------------------------------------------------------------

json_t *gt_devices_ask(const char *backend) {
  gt_buffer text = {0};
  gt_error error = {0};
  gt_status status = gt_child_run(answer, backend, seconds_to_answer, &text, &error);
  json_t *result = status == GT_OK ? json_loadb(text.data, text.length, 0, NULL) : NULL;
  gt_buffer_free(&text);
  if (result) return result;
  char *reason = status == GT_OK   ? gt_strdup("its answer makes no sense")
                 : status == GT_IO ? gt_strdup(error.text)
                                   : gt_print("its runtime %s", error.text);
  result = json_pack("{s:s, s:[], s:s}", "backend", backend, "devices", "reason", reason);
  free(reason);
  return result;
}

// --- output
// --------------------------------------------------------------------------------------------------

static void print_line(const char *what, const char *text) {
  if (*text) printf("  %-15s %s\n", what, text);
}

static void print_device(const json_t *device) {
  const char *name = json_string_value(json_object_get(device, "name"));
  const char *problem = json_string_value(json_object_get(device, "error"));
  gt_fingerprint print = {0};
  if (problem || !gt_wire_read_fingerprint(json_object_get(device, "fingerprint"), &print)) {
    printf("%s  does not open: %s\n", name, problem ? problem : "no fingerprint");
    return;
  }
  printf("%s  %s\n", name, print.name);
  print_line("architecture", print.arch);
  printf("  %-15s %d\n", "compute units", print.compute_units);
  if (print.memory_bytes) print_line("memory", gt_bytes(print.memory_bytes).text);
  if (print.last_level_cache_bytes > 0)
    print_line("last cache", gt_bytes((uint64_t)print.last_level_cache_bytes).text);
  if (print.lds_bytes_per_block > 0)
    print_line("shared memory", gt_bytes((uint64_t)print.lds_bytes_per_block).text);
  print_line("PCI", print.pci_id);
  print_line("driver", print.driver);
  print_line("runtime", print.runtime);
  print_line("compiler", print.compiler);
}

static void print_backend(const json_t *backend) {
  const char *reason = json_string_value(json_object_get(backend, "reason"));
  if (reason) printf("%s  none: %s\n", json_string_value(json_object_get(backend, "backend")), reason);
  size_t i;
  json_t *device;
  json_array_foreach(json_object_get(backend, "devices"), i, device) print_device(device);
}

int gt_command_devices(int argc, char **argv) {
  bool as_json = false;
  const gt_option options[] = {{"json", 0, GT_OPTION_FLAG, &as_json, NULL, GT_HELP_JSON}, {0}};
  const gt_usage usage = {
      .command = "devices",
      .arguments = "",
      .about =
          "Lists every back end with its devices, or says why it has none: its headers were missing when "
          "the\n"
          "program was built, its library is not found (with every path tried), or it reports no device.",
      .options = options,
      .examples = "  gathertune devices\n",
  };
  char **arguments;
  int count, result = gt_options_parse(&usage, argc, argv, &arguments, &count);
  if (result != GT_CONTINUE) return result;
  if (count) {
    gt_complain("devices: takes no argument '%s'; see gathertune devices --help", arguments[0]);
    return 2;
  }
  static const char *const names[] = {"hip", "cuda", "opencl"};
  json_t *all = json_array();
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    json_t *backend = gt_devices_ask(names[i]);
    if (!as_json) {
      if (i) putchar('\n');
      print_backend(backend);
      fflush(stdout);
    }
    json_array_append_new(all, backend);
  }
  if (as_json)
    gt_print_json(json_pack("{s:o}", "backends", all));
  else
    json_decref(all);
  return 0;
}
