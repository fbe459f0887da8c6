// The functions of the CUDA driver and of its compiler that are used, for the resolver and for the types of
// the tables. cuda.h gives many a macro that names their current version (cuMemAlloc is cuMemAlloc_v2): a
// list's user takes the name after expansion, so that symbol, type and table field agree.
#ifndef GT_DEVICE_CUDA_SYMBOLS_H
#define GT_DEVICE_CUDA_SYMBOLS_H

#include <cuda.h>
#include <nvrtc.h>

#define CUDA_SYMBOLS(REQUIRED, OPTIONAL) \
  REQUIRED(cuInit)                       \
  REQUIRED(cuGetErrorName)               \
  REQUIRED(cuGetErrorString)             \
  OPTIONAL(cuDriverGetVersion)           \
  REQUIRED(cuDeviceGetCount)             \
  REQUIRED(cuDeviceGet)                  \
  REQUIRED(cuDeviceGetAttribute)         \
  OPTIONAL(cuDeviceGetName)              \
  OPTIONAL(cuDeviceGetPCIBusId)          \
  REQUIRED(cuDeviceTotalMem)             \
  REQUIRED(cuDevicePrimaryCtxRetain)     \
  REQUIRED(cuDevicePrimaryCtxRelease)    \
  REQUIRED(cuCtxGetCurrent)              \
  REQUIRED(cuCtxGetDevice)               \
  REQUIRED(cuCtxPushCurrent)             \
  REQUIRED(cuCtxPopCurrent)              \
  REQUIRED(cuMemAlloc)                   \
  REQUIRED(cuMemFree)                    \
  REQUIRED(cuMemGetInfo)                 \
  REQUIRED(cuMemcpyHtoDAsync)            \
  REQUIRED(cuMemcpyDtoHAsync)            \
  REQUIRED(cuMemcpyDtoDAsync)            \
  REQUIRED(cuMemsetD32Async)             \
  REQUIRED(cuStreamCreate)               \
  REQUIRED(cuStreamDestroy)              \
  REQUIRED(cuStreamSynchronize)          \
  REQUIRED(cuEventCreate)                \
  REQUIRED(cuEventDestroy)               \
  REQUIRED(cuEventRecord)                \
  REQUIRED(cuEventSynchronize)           \
  REQUIRED(cuModuleLoadData)             \
  REQUIRED(cuModuleUnload)               \
  REQUIRED(cuModuleGetFunction)          \
  REQUIRED(cuLaunchKernel)               \
  OPTIONAL(cuFuncGetAttribute)           \
  OPTIONAL(cuStreamBeginCapture)         \
  OPTIONAL(cuStreamEndCapture)           \
  OPTIONAL(cuGraphUpload)                \
  OPTIONAL(cuGraphLaunch)                \
  OPTIONAL(cuGraphExecDestroy)           \
  OPTIONAL(cuGraphDestroy)

#define NVRTC_SYMBOLS(REQUIRED, OPTIONAL) \
  REQUIRED(nvrtcCreateProgram)            \
  REQUIRED(nvrtcDestroyProgram)           \
  REQUIRED(nvrtcCompileProgram)           \
  REQUIRED(nvrtcGetCUBINSize)             \
  REQUIRED(nvrtcGetCUBIN)                 \
  REQUIRED(nvrtcGetProgramLogSize)        \
  REQUIRED(nvrtcGetProgramLog)            \
  REQUIRED(nvrtcGetErrorString)           \
  REQUIRED(nvrtcVersion)                  \
  OPTIONAL(nvrtcGetNumSupportedArchs)     \
  OPTIONAL(nvrtcGetSupportedArchs)

#endif
