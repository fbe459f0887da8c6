// Compiling and loading.
#include "tests/contract/contract.h"

static void test_compile_error(void **state) {
  DEVICE(state);
  gt_fingerprint fingerprint;
  gt_buffer code = {0}, log = {0};
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  REFUSE(backend->compile(device, fingerprint.arch, broken_source, &code, &log, &fault), GT_COMPILE);
  assert_true(log.length > 0 && strstr(log.data, "error"));
  gt_buffer_free(&code);
  gt_buffer_free(&log);
}

static void test_unknown_kernel(void **state) {
  DEVICE(state);
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  REFUSE(backend->kernel(device, module, "no_such_kernel", &kernel, &fault), GT_NOT_FOUND);
  SUCCEED(backend->kernel(device, module, "number", &kernel, &fault));
  backend->unload(device, module);
}

static void test_corrupt_code(void **state) {
  DEVICE(state);
  const char garbage[256] = {1, 0, 2};
  gt_module *module = NULL;
  REFUSE(backend->load(device, garbage, sizeof garbage, &module, &fault), GT_CORRUPT);
  REFUSE(backend->load(device, garbage, 0, &module, &fault), GT_CORRUPT);
  assert_null(module);
}

static void test_cut_code(void **state) {
  EXECUTING_DEVICE(state);
  gt_buffer code = {0};
  gt_module *module = NULL;
  compile(backend, device, &code);
  const size_t sizes[] = {code.length - 1, code.length / 2, 100, 17};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char *cut = gt_alloc(sizes[i]); // of exactly that size, so that a sanitizer sees reads past it
    memcpy(cut, code.data, sizes[i]);
    REFUSE(backend->load(device, cut, sizes[i], &module, &fault), GT_CORRUPT);
    free(cut);
  }
  gt_buffer_free(&code);
}

static void test_kernel_info(void **state) {
  DEVICE(state);
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  gt_kernel_info info = {-2, -2, -2, -2};
  SUCCEED(backend->kernel(device, module, "affine", &kernel, &fault));
  SUCCEED(backend->kernel_info(device, kernel, &info, &fault));
  assert_true(info.registers >= -1 && info.scratch_bytes >= -1);
  assert_true(info.max_threads == -1 || info.max_threads >= 256);
  assert_true(info.lds_bytes == -1 || info.lds_bytes == 256 * 4);
  backend->unload(device, module);
}

// Compiles for an architecture with nothing but the compiler: what a machine without a GPU can do.
static void test_compile_only(void **state) {
  static const char *const hip[] = {"gfx942", "gfx90a", NULL}, *const cuda[] = {"sm_80", NULL};
  subject *of = *state;
  const gt_backend *backend = of->backend;
  if (!backend) device_of(state, &backend);
  if (backend->target == GT_TARGET_OPENCL || !backend->executes) {
    print_message("it compiles for an open device only\n");
    skip();
  }
  gt_buffer code = {0}, log = {0};
  gt_status status = GT_UNSUPPORTED; // an old compiler does not know every architecture
  for (const char *const *arch = backend->target == GT_TARGET_HIP ? hip : cuda; *arch; arch++) {
    status = backend->compile(NULL, *arch, hip_source, &code, &log, &fault);
    if (status != GT_UNSUPPORTED) break;
  }
  if (status == GT_NO_LIBRARY || status == GT_UNSUPPORTED) {
    print_message("%s\n", fault.text);
    skip();
  }
  SUCCEED(status);
  assert_true(code.length > 0);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
}

int main(void) {
  static const property properties[] = {
      {"a source that does not compile gives a log", test_compile_error, false},
      {"a kernel that is not in the code is not found", test_unknown_kernel, false},
      {"code that is no code object is corrupt", test_corrupt_code, false},
      {"a code object that is cut off is corrupt", test_cut_code, false},
      {"a kernel tells its group memory or that it does not know", test_kernel_info, false},
      {"a source compiles without a device", test_compile_only, true},
  };
  return contract_main(properties, sizeof properties / sizeof properties[0]);
}
