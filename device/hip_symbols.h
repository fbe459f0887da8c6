// The functions of the HIP runtime and of its compiler that are used, for the resolver and for the types of
// the tables.
#ifndef GT_DEVICE_HIP_SYMBOLS_H
#define GT_DEVICE_HIP_SYMBOLS_H

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#define HIP_SYMBOLS(REQUIRED, OPTIONAL) \
  REQUIRED(hipInit)                     \
  REQUIRED(hipGetErrorName)             \
  REQUIRED(hipGetErrorString)           \
  OPTIONAL(hipGetLastError)             \
  OPTIONAL(hipDriverGetVersion)         \
  OPTIONAL(hipRuntimeGetVersion)        \
  REQUIRED(hipGetDeviceCount)           \
  REQUIRED(hipGetDevice)                \
  REQUIRED(hipSetDevice)                \
  REQUIRED(hipDeviceGetAttribute)       \
  OPTIONAL(hipDeviceGetName)            \
  OPTIONAL(hipDeviceGetPCIBusId)        \
  REQUIRED(hipMalloc)                   \
  REQUIRED(hipFree)                     \
  REQUIRED(hipMemGetInfo)               \
  REQUIRED(hipMemcpyHtoDAsync)          \
  REQUIRED(hipMemcpyDtoHAsync)          \
  REQUIRED(hipMemcpyDtoDAsync)          \
  REQUIRED(hipMemsetD32Async)           \
  REQUIRED(hipStreamCreateWithFlags)    \
  REQUIRED(hipStreamDestroy)            \
  REQUIRED(hipStreamSynchronize)        \
  REQUIRED(hipEventCreateWithFlags)     \
  REQUIRED(hipEventDestroy)             \
  REQUIRED(hipEventRecord)              \
  REQUIRED(hipEventSynchronize)         \
  REQUIRED(hipEventElapsedTime)         \
  REQUIRED(hipModuleLoadData)           \
  REQUIRED(hipModuleUnload)             \
  REQUIRED(hipModuleGetFunction)        \
  REQUIRED(hipModuleLaunchKernel)       \
  OPTIONAL(hipFuncGetAttribute)         \
  OPTIONAL(hipStreamBeginCapture)       \
  OPTIONAL(hipStreamEndCapture)         \
  OPTIONAL(hipGraphInstantiateWithFlags)\
  OPTIONAL(hipGraphLaunch)              \
  OPTIONAL(hipGraphExecDestroy)         \
  OPTIONAL(hipGraphDestroy)

#define HIPRTC_SYMBOLS(REQUIRED, OPTIONAL) \
  REQUIRED(hiprtcCreateProgram)            \
  REQUIRED(hiprtcDestroyProgram)           \
  REQUIRED(hiprtcCompileProgram)           \
  REQUIRED(hiprtcGetCodeSize)              \
  REQUIRED(hiprtcGetCode)                  \
  REQUIRED(hiprtcGetProgramLogSize)        \
  REQUIRED(hiprtcGetProgramLog)            \
  REQUIRED(hiprtcGetErrorString)           \
  OPTIONAL(hiprtcVersion)

#endif
