// Temperature and clocks of GPUs, as their platforms tell them. Nothing here fails: what is not told is 0.
#ifndef GT_DEVICE_SENSORS_H
#define GT_DEVICE_SENSORS_H

#include "device/fingerprint.h"

#define GT_SYSFS "/sys" // where Linux shows devices

// Of an AMD GPU by its PCI address, "0000:03:00.0", from what the amdgpu driver shows under `sysfs`: the
// temperatures and clocks of its hwmon folder, or the marked levels of pp_dpm_sclk and pp_dpm_mclk.
gt_readings gt_sensors_amdgpu(const char *sysfs, const char *pci_id);

// Of an NVIDIA GPU by its PCI address, from NVML, which comes with the driver and is opened at the first
// call.
gt_readings gt_sensors_nvml(const char *pci_id);

#endif
