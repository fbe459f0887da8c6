#include "device/sensors.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "device/library.h"

// --- amdgpu
// ---------------------------------------------------------------------------------------------------

// The first line of a small file, without its end. False when it cannot be read.
static bool read_line(const char *folder, const char *name, char *line, size_t size) {
  char *path = gt_print("%s/%s", folder, name);
  FILE *file = fopen(path, "re");
  free(path);
  if (!file) return false;
  bool read = fgets(line, (int)size, file) != NULL;
  fclose(file);
  if (read) line[strcspn(line, "\n")] = 0;
  return read;
}

// A number from "KIND<channel>_input"; 0 when there is none.
static double read_channel(const char *folder, const char *kind, int channel) {
  char name[32], line[64];
  snprintf(name, sizeof name, "%s%d_input", kind, channel);
  return read_line(folder, name, line, sizeof line) ? strtod(line, NULL) : 0;
}

// Temperatures are in thousandths of a degree, clocks in hertz. A channel's label tells which clock it is.
static void read_hwmon(const char *folder, gt_readings *readings) {
  enum { CHANNELS = 8 };
  for (int channel = 1; channel <= CHANNELS; channel++) {
    char name[32], label[64];
    int degrees = (int)(read_channel(folder, "temp", channel) / 1e3 + 0.5);
    if (degrees > readings->temperature_c) readings->temperature_c = degrees;
    snprintf(name, sizeof name, "freq%d_label", channel);
    if (!read_line(folder, name, label, sizeof label)) continue;
    int mhz = (int)(read_channel(folder, "freq", channel) / 1e6 + 0.5);
    if (strcmp(label, "sclk") == 0 && mhz > 0) readings->clock_mhz = mhz;
    if (strcmp(label, "mclk") == 0 && mhz > 0) readings->memory_clock_mhz = mhz;
  }
}

// The level with a star: "1: 2100Mhz *".
static int read_level(const char *folder, const char *name) {
  char *path = gt_print("%s/%s", folder, name), line[128];
  FILE *file = fopen(path, "re");
  int mhz = 0;
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (colon && strchr(line, '*')) mhz = (int)strtol(colon + 1, NULL, 10);
  }
  if (file) fclose(file);
  free(path);
  return mhz > 0 ? mhz : 0;
}

gt_readings gt_sensors_amdgpu(const char *sysfs, const char *pci_id) {
  gt_readings readings = {0};
  if (!*pci_id || strchr(pci_id, '/')) return readings;
  char *folder = gt_print("%s/bus/pci/devices/%s", sysfs, pci_id);
  for (char *c = folder + strlen(folder) - strlen(pci_id); *c; c++) *c = (char)tolower((unsigned char)*c);
  char *monitors = gt_print("%s/hwmon", folder);
  DIR *list = opendir(monitors);
  for (const struct dirent *entry; list && (entry = readdir(list));) {
    if (strncmp(entry->d_name, "hwmon", 5) != 0) continue;
    char *monitor = gt_print("%s/%s", monitors, entry->d_name);
    read_hwmon(monitor, &readings);
    free(monitor);
  }
  if (list) closedir(list);
  if (!readings.clock_mhz) readings.clock_mhz = read_level(folder, "pp_dpm_sclk");
  if (!readings.memory_clock_mhz) readings.memory_clock_mhz = read_level(folder, "pp_dpm_mclk");
  free(monitors);
  free(folder);
  return readings;
}

// --- NVML
// -----------------------------------------------------------------------------------------------------

// What is used of nvml.h, which need not be there when this is built.
enum { NVML_SUCCESS = 0, NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
typedef struct nvml_device *nvml_device;
typedef struct {
  int (*init)(void);
  int (*device_by_pci_id)(const char *pci_id, nvml_device *device);
  int (*temperature)(nvml_device device, unsigned sensor, unsigned *celsius);
  int (*clock)(nvml_device device, unsigned type, unsigned *mhz);
} nvml_functions;

// Opened once per process; constant from then on.
static struct {
  pthread_once_t once;
  nvml_functions table;
  bool ready;
} nvml = {.once = PTHREAD_ONCE_INIT};

static void open_nvml(void) {
  static const char *const names[] = {"libnvidia-ml.so.1", NULL};
  static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib", NULL};
  static const gt_library library = {"NVML", names, folders};
  static const gt_symbol symbols[] = {
      {"nvmlInit_v2", NULL, offsetof(nvml_functions, init), true},
      {"nvmlDeviceGetHandleByPciBusId_v2", NULL, offsetof(nvml_functions, device_by_pci_id), true},
      {"nvmlDeviceGetTemperature", NULL, offsetof(nvml_functions, temperature), true},
      {"nvmlDeviceGetClockInfo", NULL, offsetof(nvml_functions, clock), true},
  };
  nvml.ready =
      gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], &nvml.table, NULL) == GT_OK &&
      nvml.table.init() == NVML_SUCCESS;
}

gt_readings gt_sensors_nvml(const char *pci_id) {
  gt_readings readings = {0};
  nvml_device device;
  unsigned value;
  pthread_once(&nvml.once, open_nvml);
  if (!nvml.ready || nvml.table.device_by_pci_id(pci_id, &device) != NVML_SUCCESS) return readings;
  if (nvml.table.temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
    readings.temperature_c = (int)value;
  if (nvml.table.clock(device, NVML_CLOCK_SM, &value) == NVML_SUCCESS) readings.clock_mhz = (int)value;
  if (nvml.table.clock(device, NVML_CLOCK_MEM, &value) == NVML_SUCCESS)
    readings.memory_clock_mhz = (int)value;
  return readings;
}
