// Compiling with OpenCL. A code object is the program's binary as the platform makes it, behind a seal: PoCL
// aborts the process on a binary that is cut off or damaged, so that one is not shown to it.
#ifdef GT_HAVE_OPENCL
#include "device/opencl.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "device/compiler_log.h"

#define SEAL "gathertune-opencl-1 " // then the hash of what follows it, in hexadecimal digits
#define SEAL_SIZE (sizeof SEAL - 1 + GT_HASH_SIZE - 1)

struct gt_module {
  cl_program program;
  gt_kernel *kernels;
};

static cl_int build(const gt_device *device, cl_program program) {
  const char *options = device->rounds_division ? GT_OPENCL_OPTIONS " -cl-fp32-correctly-rounded-divide-sqrt"
                                                : GT_OPENCL_OPTIONS;
  return device->cl.clBuildProgram(program, 1, &device->id, options, NULL, NULL);
}

static void append_log(const gt_device *device, cl_program program, gt_buffer *log) {
  size_t size = 0;
  if (device->cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || size < 2)
    return;
  char *text = gt_alloc(size + 1);
  if (device->cl.clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, text, NULL) ==
      CL_SUCCESS)
    gt_buffer_append(log, text, strlen(text));
  free(text);
}

static gt_status take_binary(const gt_device *device, cl_program program, gt_buffer *code, gt_error *error) {
  size_t size = 0;
  cl_int result = device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  if (result != CL_SUCCESS || size == 0)
    return gt_opencl_fail(error, GT_FAILED, result, "asking for the size of a program's binary");
  unsigned char *binary = gt_alloc(size);
  result = device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
  if (result == CL_SUCCESS) {
    char hash[GT_HASH_SIZE];
    gt_hash(binary, size, hash);
    gt_buffer_print(code, SEAL "%s", hash);
    gt_buffer_append(code, binary, size);
  }
  free(binary);
  return result == CL_SUCCESS ? GT_OK
                              : gt_opencl_fail(error, GT_FAILED, result, "asking for a program's binary");
}

gt_status gt_opencl_compile(gt_device *device, const char *arch, const char *source, gt_buffer *code,
                            gt_buffer *log, gt_error *error) {
  if (!device) return gt_fail(error, GT_UNSUPPORTED, "opencl: compiling needs an open device");
  if (arch && strcmp(arch, device->fingerprint.arch) != 0)
    return gt_fail(error, GT_UNSUPPORTED, "opencl: compiles for this device (%s) only, not for %.100s",
                   device->fingerprint.arch, arch);
  cl_int result;
  cl_program program = device->cl.clCreateProgramWithSource(device->context, 1, &source, NULL, &result);
  if (!program) return gt_opencl_fail(error, GT_FAILED, result, "making a program");

  gt_status status;
  result = build(device, program);
  append_log(device, program, log);
  if (result == CL_BUILD_PROGRAM_FAILURE) {
    char fault[600];
    status = gt_fail(error, GT_COMPILE, "opencl: the source does not compile: %s",
                     gt_compiler_log_error(log, fault, sizeof fault));
  } else if (result != CL_SUCCESS) {
    status = gt_opencl_fail(error, GT_COMPILE, result, "building a program");
  } else {
    status = take_binary(device, program, code, error);
  }
  device->cl.clReleaseProgram(program);
  return status;
}

static bool is_sealed(const char *code, size_t size) {
  if (size <= SEAL_SIZE || memcmp(code, SEAL, sizeof SEAL - 1) != 0) return false;
  char hash[GT_HASH_SIZE];
  gt_hash(code + SEAL_SIZE, size - SEAL_SIZE, hash);
  return memcmp(code + sizeof SEAL - 1, hash, GT_HASH_SIZE - 1) == 0;
}

gt_status gt_opencl_load(gt_device *device, const void *code, size_t size, gt_module **module,
                         gt_error *error) {
  *module = NULL;
  if (!is_sealed(code, size)) return gt_fail(error, GT_CORRUPT, "opencl: the code object is damaged or none");
  const unsigned char *binary = (const unsigned char *)code + SEAL_SIZE;
  cl_int result, of_binary = CL_SUCCESS;
  size -= SEAL_SIZE;
  cl_program program = device->cl.clCreateProgramWithBinary(device->context, 1, &device->id, &size, &binary,
                                                            &of_binary, &result);
  if (!program)
    return gt_opencl_fail(error, GT_CORRUPT, of_binary ? of_binary : result, "reading a code object");
  result = build(device, program);
  if (result != CL_SUCCESS) {
    device->cl.clReleaseProgram(program);
    return gt_opencl_fail(error, GT_CORRUPT, result, "building a code object");
  }
  *module = gt_alloc(sizeof **module);
  (*module)->program = program;
  return GT_OK;
}

void gt_opencl_unload(gt_device *device, gt_module *module) {
  if (!module) return;
  for (gt_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    device->cl.clReleaseKernel(kernel->kernel);
    free(kernel->name);
    free(kernel);
  }
  device->cl.clReleaseProgram(module->program);
  free(module);
}

// What the platform knows of a kernel. A number that it does not tell stays as it was.
static void ask(const gt_device *device, cl_kernel kernel, cl_kernel_work_group_info what, int *value) {
  uint64_t told = 0;
  if (device->cl.clGetKernelWorkGroupInfo(kernel, device->id, what, sizeof told, &told, NULL) == CL_SUCCESS &&
      told <= INT32_MAX)
    *value = (int)told;
}

gt_status gt_opencl_kernel(gt_device *device, gt_module *module, const char *name, gt_kernel **kernel,
                           gt_error *error) {
  *kernel = NULL;
  cl_int result;
  cl_kernel made = device->cl.clCreateKernel(module->program, name, &result);
  if (!made && result == CL_INVALID_KERNEL_NAME)
    return gt_fail(error, GT_NOT_FOUND, "opencl: the code object has no kernel '%.200s'", name);
  if (!made) return gt_opencl_fail(error, GT_FAILED, result, "making a kernel");
  cl_uint n_arguments = 0;
  result = device->cl.clGetKernelInfo(made, CL_KERNEL_NUM_ARGS, sizeof n_arguments, &n_arguments, NULL);
  if (result != CL_SUCCESS) {
    device->cl.clReleaseKernel(made);
    return gt_opencl_fail(error, GT_FAILED, result, "asking for a kernel's arguments");
  }

  gt_kernel *found = gt_alloc(sizeof *found);
  *found = (gt_kernel){.kernel = made, .name = gt_strdup(name), .n_arguments = n_arguments};
  found->info = (gt_kernel_info){-1, -1, -1, device->fingerprint.max_threads_per_block};
  ask(device, made, CL_KERNEL_LOCAL_MEM_SIZE, &found->info.lds_bytes);
  // PoCL names the same number for every kernel.
  if (!device->fingerprint.is_cpu) ask(device, made, CL_KERNEL_PRIVATE_MEM_SIZE, &found->info.scratch_bytes);
  ask(device, made, CL_KERNEL_WORK_GROUP_SIZE, &found->info.max_threads);
  if (found->info.max_threads > device->fingerprint.max_threads_per_block)
    found->info.max_threads = device->fingerprint.max_threads_per_block;
  found->next = module->kernels;
  module->kernels = found;
  *kernel = found;
  return GT_OK;
}
#endif
