// Which devices a tuning run is to use: --device.
#ifndef GT_CLI_TUNE_DEVICES_H
#define GT_CLI_TUNE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct {
  char **names;
  size_t count;
  bool found; // "all": those that were found; one that does not open is then left out
} gt_device_names;

// Reads "auto", "all", "hip:0" or a list of names, "hip:0,hip:1". `all`: every GPU that a back end finds, each once, or
// without any the CPU through OpenCL; complains about GPUs that do not open. GT_USAGE: a name comes twice, or `auto` or
// `all` in a list. GT_NO_DEVICE.
gt_status gt_device_names_read(const char *text, gt_device_names *names, gt_error *error);
void gt_device_names_free(gt_device_names *names); // harmless on a zeroed one

#endif
