// What the contract tests share: the back ends, their devices, and a program that holds a list of properties
// against each.
//
// The tests are what device.h promises. GT_CONTRACT_BACKENDS names the back ends that must be there, joined
// by commas; without it, all are tried, and those that are not there are skipped with the reason.
#ifndef GT_TESTS_CONTRACT_H
#define GT_TESTS_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "device/device.h"

// --- what is tested ------------------------------------------------------------------------------

typedef struct {
  const char *name;
  const gt_backend *backend; // NULL when the build lacks it
  gt_open_device open;       // without a device when none is there
  char reason[200];          // why not
  bool required;
} subject;

// A source of the same kernels for each target. `number` writes out[i] = in[i] + step * i; a block that lies
// past the end does nothing. `affine` makes order visible.
static const char hip_source[] =
    "// configuration: working\n"
    "extern \"C\" __global__ void number(int *out, const int *in, long long n, long long step) {\n"
    "  long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x;\n"
    "  long long i = (block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
    "  if (i < n) out[i] = in[i] + (int)(step * i);\n"
    "}\n"
    "extern \"C\" __global__ void affine(int *data, long long factor, long long summand) {\n"
    "  __shared__ int share[256];\n"
    "  share[threadIdx.x] = data[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  data[threadIdx.x] = (int)factor * share[threadIdx.x ^ 1] + (int)summand;\n"
    "}\n";
static const char opencl_source[] =
    "__constant int one[2] = {1, 0};\n"
    "__kernel void number(__global int *out, __global const int *in, long n, long step) {\n"
    "  long block = get_group_id(1) * get_num_groups(0) + get_group_id(0);\n"
    "  long i = (block * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);\n"
    "  if (i < n) out[i] = in[i] + one[0] * (int)(step * i);\n"
    "}\n"
    "__kernel void affine(__global int *data, long factor, long summand) {\n"
    "  __local int share[256];\n"
    "  share[get_local_id(0)] = data[get_local_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  data[get_local_id(0)] = (int)factor * share[get_local_id(0) ^ 1] + (int)summand;\n"
    "}\n";
static const char broken_source[] = "// configuration: broken\n"
                                    "this is no kernel;\n";

typedef struct {
  const char *name;
  CMUnitTestFunction test;
  bool without_device; // needs none
} property;

static const char recorded_script[] =
    "{\"default_us\": 50, \"rules\": [{\"match\": \"broken\", \"action\": \"compile_error\"}]}";

static inline const char *source_for(gt_target target) {
  return target == GT_TARGET_OPENCL ? opencl_source : hip_source;
}

// --- helpers -------------------------------------------------------------------------------------

static gt_error fault;

// Fails the test with the error's text when a call does not succeed.
#define SUCCEED(call)                                                                \
  do {                                                                               \
    gt_status status_ = (call);                                                      \
    if (status_) fail_msg("%s: %s: %s", #call, gt_status_name(status_), fault.text); \
  } while (0)

#define REFUSE(call, expected)                                           \
  do {                                                                   \
    fault = (gt_error){0};                                               \
    assert_string_equal(gt_status_name(call), gt_status_name(expected)); \
    assert_int_equal(fault.status, expected);                            \
    assert_true(strlen(fault.text) > 0 && !strchr(fault.text, '\n'));    \
  } while (0)

// The device of a test. Skips the test where there is none.
static inline gt_device *device_of(void **state, const gt_backend **backend) {
  subject *of = *state;
  *backend = of->backend;
  if (of->open.device) return of->open.device;
  if (of->required) fail_msg("%s is required: %s", of->name, of->reason);
  skip();
  return NULL;
}

#define DEVICE(state)        \
  const gt_backend *backend; \
  gt_device *device = device_of(state, &backend)

static inline gt_device *executing_device_of(void **state, const gt_backend **backend) {
  gt_device *device = device_of(state, backend);
  if (!(*backend)->executes) {
    print_message("its launches compute nothing\n");
    skip();
  }
  return device;
}

#define EXECUTING_DEVICE(state) \
  const gt_backend *backend;    \
  gt_device *device = executing_device_of(state, &backend)

static inline gt_address allocate(const gt_backend *backend, gt_device *device, size_t bytes) {
  gt_address address;
  SUCCEED(backend->allocate(device, bytes, &address, &fault));
  return address;
}

static inline void compile(const gt_backend *backend, gt_device *device, gt_buffer *code) {
  gt_fingerprint fingerprint;
  gt_buffer log = {0};
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  SUCCEED(backend->compile(device, fingerprint.arch, source_for(fingerprint.target), code, &log, &fault));
  assert_true(code->length > 0);
  gt_buffer_free(&log);
}

static inline gt_module *load(const gt_backend *backend, gt_device *device) {
  gt_buffer code = {0};
  gt_module *module;
  compile(backend, device, &code);
  SUCCEED(backend->load(device, code.data, code.length, &module, &fault));
  gt_buffer_free(&code); // the module keeps nothing of it
  return module;
}

// --- the program ---------------------------------------------------------------------------------

enum { MAX_PROPERTIES = 32 };

// The script of a recorded device, in a file that is gone when the device is open.
static gt_status open_recorded(gt_open_device *open, gt_error *error) {
  char path[] = "/tmp/gathertune-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) return gt_fail(error, GT_IO, "no temporary file");
  bool written = write(file, recorded_script, strlen(recorded_script)) == (ssize_t)strlen(recorded_script);
  close(file);
  char *name = gt_print("recorded:%s", path);
  gt_status status = written ? gt_device_open(name, open, error) : gt_fail(error, GT_IO, "no room in /tmp");
  free(name);
  unlink(path);
  return status;
}

static void prepare(subject *of, const char *name, bool required) {
  gt_error error = {0};
  *of = (subject){.name = name, .backend = gt_backend_find(name), .required = required};
  if (!of->backend) {
    const char *missing = gt_backend_missing(name);
    snprintf(of->reason, sizeof of->reason, "%s", missing ? missing : "unknown back end");
    return;
  }
  char *device = gt_print("%s:0", name);
  gt_status status = strcmp(name, "recorded") == 0 ? open_recorded(&of->open, &error)
                                                   : gt_device_open(device, &of->open, &error);
  if (status) snprintf(of->reason, sizeof of->reason, "%.199s", error.text);
  free(device);
}

static bool wanted(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
  return false;
}

// Runs all properties of one back end; the number of failures.
static int run(const char *name, bool required, const property *properties, size_t count) {
  subject of;
  struct CMUnitTest tests[MAX_PROPERTIES] = {0};
  char *titles[MAX_PROPERTIES];
  assert_true(count <= MAX_PROPERTIES);
  prepare(&of, name, required);
  for (size_t i = 0; i < count; i++) {
    // A skipped test is listed by its name alone, so that this is where the reason has to be.
    bool skipped = !of.open.device && !properties[i].without_device;
    titles[i] = skipped ? gt_print("%s: %s (%.100s)", name, properties[i].name, of.reason)
                        : gt_print("%s: %s", name, properties[i].name);
    tests[i] = (struct CMUnitTest){.name = titles[i], .test_func = properties[i].test, .initial_state = &of};
  }
  // What cmocka_run_group_tests_name calls, which takes the count from an array's type.
  int failures = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
  gt_device_close(&of.open);
  for (size_t i = 0; i < count; i++) free(titles[i]);
  return failures;
}

// Each back end has a process of its own: the compilers behind two of them may each bring a copy of LLVM, and
// LLVM aborts where it finds another one.
static int contract_main(const property *properties, size_t n_properties) {
  static const char *const names[] = {"hip", "cuda", "opencl", "recorded"};
  const char *list = getenv("GT_CONTRACT_BACKENDS");
  int failures = 0, count = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (list && !wanted(list, names[i])) continue;
    count++;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) return run(names[i], list, properties, n_properties) > 0;
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    failures += status != 0;
    if (WIFSIGNALED(status))
      printf("not ok - %s: the tests ended with signal %d\n", names[i], WTERMSIG(status));
  }
  if (count == 0) fprintf(stderr, "GT_CONTRACT_BACKENDS names no back end (hip, cuda, opencl, recorded)\n");
  return count == 0 ? 2 : failures > 0;
}

#endif
