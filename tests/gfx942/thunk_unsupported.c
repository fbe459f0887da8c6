// Functions that ROCr links against and that the emulated device does not have, or answers with nothing.
// Their arguments are not looked at, so they are not declared (the x86-64 calling convention allows it), and
// this file does not include the header with their prototypes.
#include "thunk.h"

#define NOT_SUPPORTED(name)                   \
  THUNK_API HSAKMT_STATUS name(void) {        \
    thunk_log(1, "%s: not supported", #name); \
    return HSAKMT_STATUS_NOT_SUPPORTED;       \
  }

NOT_SUPPORTED(hsaKmtDbgDisable)
NOT_SUPPORTED(hsaKmtDbgEnable)
NOT_SUPPORTED(hsaKmtDbgGetDeviceData)
NOT_SUPPORTED(hsaKmtDbgGetQueueData)
NOT_SUPPORTED(hsaKmtExportDMABufHandle)
NOT_SUPPORTED(hsaKmtOpenSMI)
NOT_SUPPORTED(hsaKmtRegisterGraphicsHandleToNodes)
NOT_SUPPORTED(hsaKmtRegisterSharedHandle)
NOT_SUPPORTED(hsaKmtReplaceAsanHeaderPage)
NOT_SUPPORTED(hsaKmtReturnAsanHeaderPage)
NOT_SUPPORTED(hsaKmtRuntimeEnable)
NOT_SUPPORTED(hsaKmtShareMemory)
NOT_SUPPORTED(hsaKmtSPMAcquire)
NOT_SUPPORTED(hsaKmtSPMRelease)
NOT_SUPPORTED(hsaKmtSPMSetDestBuffer)
NOT_SUPPORTED(hsaKmtSVMGetAttr)
NOT_SUPPORTED(hsaKmtSVMSetAttr)

// ROCr calls these two of libdrm on the device handle. The linker finds the ones here first.
THUNK_API int amdgpu_query_gpu_info(void) {
  return 0;
}

THUNK_API int drmCommandWriteRead(void) {
  return -1;
}
