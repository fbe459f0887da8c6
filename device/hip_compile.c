#ifdef GT_HAVE_HIP

#include "device/hip_compile.h"

#include "device/compiler_log.h"
#include "device/fingerprint.h"
#include "device/hip_symbols.h"
#include "device/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const gt_hip_folders[] = {"$ROCM_PATH/lib", "$HIP_PATH/lib", "/opt/rocm/lib", NULL};

// Contraction would make the bits of a result depend on what the compiler saw to fuse.
const char gt_hip_compile_options[] = "-O3 -ffp-contract=off -std=c++17";
static const char *const options[] = {"-O3", "-ffp-contract=off", "-std=c++17"};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

typedef struct {
#define FIELD(name) __typeof__(&name) name;
  HIPRTC_SYMBOLS(FIELD, FIELD)
#undef FIELD
} hiprtc;

// Opened once per process; constant from then on.
static struct {
  pthread_once_t once;
  hiprtc table;
  gt_status status;
  gt_error error;
} compiler = {.once = PTHREAD_ONCE_INIT};

static void open_compiler(void) {
  // Older runtimes have the compiler in the runtime itself.
  static const char *const names[] = {"libhiprtc.so.6",   "libhiprtc.so.5",   "libhiprtc.so.7",
                                      "libhiprtc.so",     "libamdhip64.so.6", "libamdhip64.so.5",
                                      "libamdhip64.so.7", "libamdhip64.so",   NULL};
  static const gt_library library = {"the HIP compiler (hiprtc)", names, gt_hip_folders};
  static const gt_symbol symbols[] = {
#define REQUIRED(name) {#name, NULL, offsetof(hiprtc, name), true},
#define OPTIONAL(name) {#name, NULL, offsetof(hiprtc, name), false},
      HIPRTC_SYMBOLS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
  };
  compiler.status = gt_library_open(&library, symbols, sizeof symbols / sizeof symbols[0], &compiler.table,
                                    &compiler.error);
}

static gt_status get_compiler(const hiprtc **table, gt_error *error) {
  pthread_once(&compiler.once, open_compiler);
  if (compiler.status != GT_OK) return gt_fail(error, compiler.status, "%s", compiler.error.text);
  *table = &compiler.table;
  return GT_OK;
}

// A symbol of the code generator (comgr) below hiprtc: of a library that hiprtc depends on, or has opened
// itself.
static void *code_generator_symbol(const hiprtc *rtc, const char *name) {
  const char *const libraries[] = {gt_library_path((const void *)(uintptr_t)rtc->hiprtcCreateProgram),
                                   "libamd_comgr.so.3", "libamd_comgr.so.2"};
  void *symbol = NULL;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && !symbol; i++) {
    void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
    if (!library) continue;
    symbol = dlsym(library, name);
    dlclose(library); // it stays loaded: hiprtc needs it
  }
  return symbol;
}

// Whether the code generator knows a processor; true when it cannot be asked. hiprtc itself cannot be: some
// versions abort the process when given a processor that they do not know.
static bool processor_is_known(const hiprtc *rtc, const char *arch) {
  int (*get_count)(size_t *);
  int (*get_name)(size_t, const char **);
  void *count_symbol = code_generator_symbol(rtc, "amd_comgr_get_isa_count");
  void *name_symbol = code_generator_symbol(rtc, "amd_comgr_get_isa_name");
  if (!count_symbol || !name_symbol) return true;
  memcpy(&get_count, &count_symbol, sizeof get_count);
  memcpy(&get_name, &name_symbol, sizeof get_name);

  size_t count = 0, length = strcspn(arch, ":");
  if (get_count(&count) != 0 || count == 0) return true;
  for (size_t i = 0; i < count; i++) {
    const char *name; // "amdgcn-amd-amdhsa--gfx942"
    if (get_name(i, &name) != 0) continue;
    const char *processor = strrchr(name, '-');
    if (processor && strlen(processor + 1) == length && memcmp(processor + 1, arch, length) == 0) return true;
  }
  return false;
}

void gt_hip_compiler_version(char *text, size_t size) {
  const hiprtc *rtc;
  int major = 0, minor = 0;
  text[0] = 0;
  if (get_compiler(&rtc, NULL) != GT_OK) return;
  if (rtc->hiprtcVersion) (void)rtc->hiprtcVersion(&major, &minor);
  // hiprtc calls itself 9.0 in every release; the full name of its file ends in the release's version.
  char *file = realpath(gt_library_path((const void *)(uintptr_t)rtc->hiprtcCreateProgram), NULL);
  const char *name = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : "?";
  snprintf(text, size, "hiprtc %d.%d, %.80s", major, minor, name);
  free(file);
}

static void read_log(const hiprtc *rtc, hiprtcProgram program, gt_buffer *log) {
  size_t size = 0;
  if (rtc->hiprtcGetProgramLogSize(program, &size) != HIPRTC_SUCCESS || size < 2) return;
  char *text = gt_alloc(size + 1);
  if (rtc->hiprtcGetProgramLog(program, text) == HIPRTC_SUCCESS) gt_buffer_append(log, text, strlen(text));
  free(text);
}

static gt_status read_code(const hiprtc *rtc, hiprtcProgram program, gt_buffer *code, gt_error *error) {
  size_t size = 0;
  char *bytes = NULL;
  hiprtcResult result = rtc->hiprtcGetCodeSize(program, &size);
  if (result == HIPRTC_SUCCESS) {
    bytes = gt_alloc(size + 1);
    result = rtc->hiprtcGetCode(program, bytes);
  }
  if (result == HIPRTC_SUCCESS) gt_buffer_append(code, bytes, size);
  free(bytes);
  return result == HIPRTC_SUCCESS
             ? GT_OK
             : gt_fail(error, GT_FAILED, "hiprtcGetCode: %s", rtc->hiprtcGetErrorString(result));
}

gt_status gt_hip_compile(const char *arch, const char *source, gt_buffer *code, gt_buffer *log,
                         gt_error *error) {
  gt_buffer_clear(code);
  gt_buffer_clear(log);
  gt_fingerprint fingerprint;
  if (!gt_fingerprint_for_arch(arch, &fingerprint) || fingerprint.target != GT_TARGET_HIP)
    return gt_fail(error, GT_UNSUPPORTED, "\"%s\" is no architecture that HIP compiles for: one is gfx942",
                   arch);
  const hiprtc *rtc;
  gt_status status = get_compiler(&rtc, error);
  if (status != GT_OK) return status;
  char arch_option[160], line[512];
  snprintf(arch_option, sizeof arch_option, "--offload-arch=%s", arch);
  const char *all_options[1 + OPTION_COUNT] = {arch_option};
  memcpy(all_options + 1, options, sizeof options);

  hiprtcProgram program = NULL;
  hiprtcResult result = rtc->hiprtcCreateProgram(&program, source, "kernel.hip", 0, NULL, NULL);
  if (result != HIPRTC_SUCCESS)
    return gt_fail(error, GT_FAILED, "hiprtcCreateProgram: %s", rtc->hiprtcGetErrorString(result));
  // Only now, since some versions open the code generator when they are first used.
  if (!processor_is_known(rtc, arch)) {
    status = gt_fail(error, GT_UNSUPPORTED, "the HIP compiler of this machine does not know %s", arch);
    goto done;
  }
  result = rtc->hiprtcCompileProgram(program, 1 + OPTION_COUNT, all_options);
  read_log(rtc, program, log);
  if (result == HIPRTC_SUCCESS)
    status = read_code(rtc, program, code, error);
  else
    status = gt_fail(error, GT_COMPILE, "hiprtcCompileProgram for %s: %s: %s", arch,
                     rtc->hiprtcGetErrorString(result), gt_compiler_log_error(log, line, sizeof line));
done:
  rtc->hiprtcDestroyProgram(&program);
  return status;
}

#else
typedef int gt_hip_compile_is_not_built; // ISO C wants a declaration in every file
#endif
