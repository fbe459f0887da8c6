// X(function): what the back end uses of OpenCL 2.0. Shared virtual memory is what makes 2.0 the least.
#define GT_OPENCL_SYMBOLS(X)            \
  X(clGetPlatformIDs)                   \
  X(clGetPlatformInfo)                  \
  X(clGetDeviceIDs)                     \
  X(clGetDeviceInfo)                    \
  X(clCreateContext)                    \
  X(clRetainContext)                    \
  X(clReleaseContext)                   \
  X(clCreateCommandQueueWithProperties) \
  X(clReleaseCommandQueue)              \
  X(clRetainCommandQueue)               \
  X(clGetCommandQueueInfo)              \
  X(clCreateProgramWithSource)          \
  X(clCreateProgramWithBinary)          \
  X(clBuildProgram)                     \
  X(clGetProgramInfo)                   \
  X(clGetProgramBuildInfo)              \
  X(clReleaseProgram)                   \
  X(clCreateKernel)                     \
  X(clReleaseKernel)                    \
  X(clGetKernelInfo)                    \
  X(clGetKernelWorkGroupInfo)           \
  X(clSetKernelArg)                     \
  X(clSetKernelArgSVMPointer)           \
  X(clSVMAlloc)                         \
  X(clSVMFree)                          \
  X(clEnqueueSVMMemcpy)                 \
  X(clEnqueueSVMMemFill)                \
  X(clEnqueueNDRangeKernel)             \
  X(clEnqueueMarkerWithWaitList)        \
  X(clGetEventProfilingInfo)            \
  X(clWaitForEvents)                    \
  X(clReleaseEvent)                     \
  X(clFinish)
