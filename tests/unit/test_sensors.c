// Temperatures and clocks, from a folder that looks like sysfs and from a library that looks like NVML.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "device/sensors.h"

static char folder[] = "/tmp/gathertune-sensors-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char *command = gt_print("rm -rf '%s'", folder);
  int failed = system(command);
  free(command);
  return failed ? -1 : 0;
}

static void put(const char *name, const char *text) {
  char *path = gt_print("%s/%s", folder, name), *command = gt_print("mkdir -p \"$(dirname '%s')\"", path);
  assert_int_equal(system(command), 0);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  free(command);
  free(path);
}

static void assert_readings(gt_readings got, int temperature, int clock, int memory_clock) {
  assert_int_equal(got.temperature_c, temperature);
  assert_int_equal(got.clock_mhz, clock);
  assert_int_equal(got.memory_clock_mhz, memory_clock);
}

#define HWMON "bus/pci/devices/0000:c1:00.0/hwmon/hwmon3/"
static void the_hottest_place_and_the_labelled_clocks_of_hwmon_are_read(void **state) {
  (void)state;
  put(HWMON "temp1_input", "47000\n");
  put(HWMON "temp2_input", "61499\n");
  put(HWMON "temp3_input", "58000\n");
  put(HWMON "freq1_input", "2100000000\n");
  put(HWMON "freq1_label", "sclk\n");
  put(HWMON "freq2_input", "1300000000\n");
  put(HWMON "freq2_label", "mclk\n");
  assert_readings(gt_sensors_amdgpu(folder, "0000:C1:00.0"), 61, 2100, 1300); // sysfs has small letters
}

static void where_hwmon_has_no_clocks_the_marked_levels_are_read(void **state) {
  (void)state;
  put("bus/pci/devices/0000:c2:00.0/hwmon/hwmon4/temp1_input", "50000\n");
  put("bus/pci/devices/0000:c2:00.0/pp_dpm_sclk", "0: 132Mhz\n1: 1980Mhz *\n2: 2100Mhz\n");
  put("bus/pci/devices/0000:c2:00.0/pp_dpm_mclk", "0: 900Mhz\n1: 1300Mhz *\n");
  assert_readings(gt_sensors_amdgpu(folder, "0000:c2:00.0"), 50, 1980, 1300);
}

static void what_is_not_told_is_unknown(void **state) {
  (void)state;
  assert_readings(gt_sensors_amdgpu(folder, "0000:ff:00.0"), 0, 0, 0);
  assert_readings(gt_sensors_amdgpu(folder, ""), 0, 0, 0);
  assert_readings(gt_sensors_amdgpu(folder, "../../.."), 0, 0, 0);
  put("bus/pci/devices/0000:c3:00.0/pp_dpm_sclk", "nonsense\n*\n: *\n");
  put("bus/pci/devices/0000:c3:00.0/hwmon/hwmon5/temp1_input", "hot\n");
  assert_readings(gt_sensors_amdgpu(folder, "0000:c3:00.0"), 0, 0, 0);
}

// The functions as the manual of NVML has them, in a library of its name.
static const char imitation[] =
    "#include <string.h>\n"
    "static int ready;\n"
    "int nvmlInit_v2(void) { ready = 1; return 0; }\n"
    "int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {\n"
    "  *device = &ready; return ready && strcmp(id, \"0000:17:00.0\") == 0 ? 0 : 6; }\n"
    "int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *t) {\n"
    "  *t = 44; return device == &ready && sensor == 0 ? 0 : 2; }\n"
    "int nvmlDeviceGetClockInfo(void *device, unsigned type, unsigned *mhz) {\n"
    "  *mhz = type == 1 ? 1980 : 3201; return device == &ready && (type == 1 || type == 2) ? 0 : 2; }\n";

// Stands in for the driver's own library, where there is one: this is about the calls.
static void nvml_is_asked_by_pci_address(void **state) {
  (void)state;
  if (system("cc --version >/dev/null 2>&1") != 0) skip();
  put("nvml.c", imitation);
  char *build = gt_print(
      "cd '%s' && cc -shared -fPIC -o libnvidia-ml.so.1 -Wl,-soname,libnvidia-ml.so.1 nvml.c", folder);
  assert_int_equal(system(build), 0);
  free(build);
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  assert_true(length > 0);
  path[length] = 0;
  char *again = gt_print("LD_LIBRARY_PATH='%s' '%s' nvml", folder, path); // the linker reads it at the start
  assert_int_equal(system(again), 0);
  free(again);
}

static int ask_nvml(void) {
  gt_readings known = gt_sensors_nvml("0000:17:00.0"), other = gt_sensors_nvml("0000:18:00.0");
  return known.temperature_c == 44 && known.clock_mhz == 1980 && known.memory_clock_mhz == 3201 &&
                 other.temperature_c == 0 && other.clock_mhz == 0
             ? 0
             : 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "nvml") == 0) return ask_nvml();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_hottest_place_and_the_labelled_clocks_of_hwmon_are_read),
      cmocka_unit_test(where_hwmon_has_no_clocks_the_marked_levels_are_read),
      cmocka_unit_test(what_is_not_told_is_unknown),
      cmocka_unit_test(nvml_is_asked_by_pci_address),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
