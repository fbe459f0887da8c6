#ifdef GT_HAVE_CUDA

#include "device/cuda_compile.h"

#include "device/compiler_log.h"
#include "device/cuda_device.h"
#include "device/fingerprint.h"
#include "device/library.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Contraction would make the bits of a result depend on what the compiler saw to fuse.
const char gt_cuda_compile_options[] = "--fmad=false --std=c++17 -default-device";
static const char *const options[] = {"--fmad=false", "--std=c++17", "-default-device"};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

typedef struct {
#define FIELD(name) __typeof__(&name) name;
  NVRTC_SYMBOLS(FIELD, FIELD)
#undef FIELD
} nvrtc;

// Opened once per process; constant from then on.
static struct {
  pthread_once_t once;
  nvrtc table;
  gt_status status;
  gt_error error;
} compiler = {.once = PTHREAD_ONCE_INIT};

// Whether there is a driver that may refuse the code of CUDA 13's compiler.
static bool driver_is_old(void) {
  const gt_cuda_functions *cuda;
  int version = 0;
  return gt_cuda_get_functions(&cuda, NULL) == GT_OK && cuda->cuDriverGetVersion &&
         cuda->cuDriverGetVersion(&version) == CUDA_SUCCESS && version < 13000;
}

static void open_compiler(void) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                      NULL};
  static const char *const old_names[] = {"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.13",
                                          "libnvrtc.so", NULL};
  static const char *const folders[] = {"$CUDA_HOME/lib64", "$CUDA_PATH/lib64", "/usr/local/cuda/lib64",
                                        NULL};
  const gt_library library = {"the CUDA compiler (NVRTC)", driver_is_old() ? old_names : names, folders};
  static const gt_symbol symbols[] = {
#define REQUIRED(name) {#name, NULL, offsetof(nvrtc, name), true},
#define OPTIONAL(name) {#name, NULL, offsetof(nvrtc, name), false},
      NVRTC_SYMBOLS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
  };
  compiler.status = gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], &compiler.table,
                                    &compiler.error);
}

static gt_status get_compiler(const nvrtc **table, gt_error *error) {
  pthread_once(&compiler.once, open_compiler);
  if (compiler.status != GT_OK) return gt_fail(error, compiler.status, "%s", compiler.error.text);
  *table = &compiler.table;
  return GT_OK;
}

void gt_cuda_compiler_version(char *text, size_t size) {
  const nvrtc *rtc;
  int major = 0, minor = 0;
  text[0] = 0;
  if (get_compiler(&rtc, NULL) == GT_OK && rtc->nvrtcVersion(&major, &minor) == NVRTC_SUCCESS)
    snprintf(text, size, "nvrtc %d.%d", major, minor);
}

// Whether this version of NVRTC has the architecture; true when it cannot tell.
static bool arch_is_known(const nvrtc *rtc, const char *arch) {
  int count = 0, wanted = atoi(arch + strlen("sm_"));
  if (!rtc->nvrtcGetNumSupportedArchs || !rtc->nvrtcGetSupportedArchs) return true;
  if (rtc->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count < 1) return true;
  int *archs = gt_alloc((size_t)count * sizeof *archs);
  bool known = rtc->nvrtcGetSupportedArchs(archs) != NVRTC_SUCCESS;
  for (int i = 0; i < count && !known; i++) known = archs[i] == wanted;
  free(archs);
  return known;
}

static void read_log(const nvrtc *rtc, nvrtcProgram program, gt_buffer *log) {
  size_t size = 0;
  if (rtc->nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size < 2) return;
  char *text = gt_alloc(size + 1);
  if (rtc->nvrtcGetProgramLog(program, text) == NVRTC_SUCCESS) gt_buffer_append(log, text, strlen(text));
  free(text);
}

static gt_status read_code(const nvrtc *rtc, nvrtcProgram program, gt_buffer *code, gt_error *error) {
  size_t size = 0;
  char *bytes = NULL;
  nvrtcResult result = rtc->nvrtcGetCUBINSize(program, &size);
  if (result == NVRTC_SUCCESS) {
    bytes = gt_alloc(size + 1);
    result = rtc->nvrtcGetCUBIN(program, bytes);
  }
  if (result == NVRTC_SUCCESS) gt_buffer_append(code, bytes, size);
  free(bytes);
  return result == NVRTC_SUCCESS
             ? GT_OK
             : gt_fail(error, GT_FAILED, "nvrtcGetCUBIN: %s", rtc->nvrtcGetErrorString(result));
}

gt_status gt_cuda_compile(const char *arch, const char *source, gt_buffer *code, gt_buffer *log,
                          gt_error *error) {
  gt_buffer_clear(code);
  gt_buffer_clear(log);
  gt_fingerprint fingerprint;
  if (!gt_fingerprint_for_arch(arch, &fingerprint) || fingerprint.target != GT_TARGET_CUDA)
    return gt_fail(error, GT_UNSUPPORTED, "\"%s\" is no architecture that CUDA compiles for: one is sm_90",
                   arch);
  const nvrtc *rtc;
  gt_status status = get_compiler(&rtc, error);
  if (status != GT_OK) return status;
  if (!arch_is_known(rtc, arch))
    return gt_fail(error, GT_UNSUPPORTED, "the CUDA compiler of this machine does not know %s", arch);

  char arch_option[64], line[512];
  snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s", arch);
  const char *all_options[1 + OPTION_COUNT] = {arch_option};
  memcpy(all_options + 1, options, sizeof options);

  nvrtcProgram program = NULL;
  nvrtcResult result = rtc->nvrtcCreateProgram(&program, source, "kernel.cu", 0, NULL, NULL);
  if (result != NVRTC_SUCCESS)
    return gt_fail(error, GT_FAILED, "nvrtcCreateProgram: %s", rtc->nvrtcGetErrorString(result));
  result = rtc->nvrtcCompileProgram(program, 1 + OPTION_COUNT, all_options);
  read_log(rtc, program, log);
  if (result == NVRTC_SUCCESS)
    status = read_code(rtc, program, code, error);
  else
    status = gt_fail(error, GT_COMPILE, "nvrtcCompileProgram for %s: %s: %s", arch,
                     rtc->nvrtcGetErrorString(result), gt_compiler_log_error(log, line, sizeof line));
  (void)rtc->nvrtcDestroyProgram(&program);
  return status;
}

#else
typedef int gt_cuda_compile_is_not_built; // ISO C wants a declaration in every file
#endif
