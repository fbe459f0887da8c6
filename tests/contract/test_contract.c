// What device.h promises, held against every back end that is there. GT_CONTRACT_BACKENDS names those that
// must be there, joined by commas; without it, all are tried, and those that are not there are skipped with
// the reason.
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

// --- what is tested
// --------------------------------------------------------------------------------------------

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

static const char recorded_script[] =
    "{\"default_us\": 50, \"rules\": [{\"match\": \"broken\", \"action\": \"compile_error\"}]}";

static const char *source_for(gt_target target) {
  return target == GT_TARGET_OPENCL ? opencl_source : hip_source;
}

// --- helpers
// -----------------------------------------------------------------------------------------------------

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
static gt_device *device_of(void **state, const gt_backend **backend) {
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

static gt_device *executing_device_of(void **state, const gt_backend **backend) {
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

static gt_address allocate(const gt_backend *backend, gt_device *device, size_t bytes) {
  gt_address address;
  SUCCEED(backend->allocate(device, bytes, &address, &fault));
  return address;
}

static void compile(const gt_backend *backend, gt_device *device, gt_buffer *code) {
  gt_fingerprint fingerprint;
  gt_buffer log = {0};
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  SUCCEED(backend->compile(device, fingerprint.arch, source_for(fingerprint.target), code, &log, &fault));
  assert_true(code->length > 0);
  gt_buffer_free(&log);
}

static gt_module *load(const gt_backend *backend, gt_device *device) {
  gt_buffer code = {0};
  gt_module *module;
  compile(backend, device, &code);
  SUCCEED(backend->load(device, code.data, code.length, &module, &fault));
  gt_buffer_free(&code); // the module keeps nothing of it
  return module;
}

static unsigned char pattern(size_t i) {
  return (unsigned char)(i * 37 + i / 251 + 11);
}

// --- tables and fingerprints
// ---------------------------------------------------------------------------------------

static void test_table(void **state) {
  subject *of = *state;
  const gt_backend *backend = of->backend;
  if (!backend) device_of(state, &backend);
  assert_int_equal(backend->version, GT_BACKEND_VERSION);
  assert_string_equal(backend->name, of->name);
  assert_non_null(backend->compile_options);
  assert_true(backend->count && backend->open && backend->close && backend->fingerprint && backend->compile);
  assert_true(backend->load && backend->unload && backend->kernel && backend->kernel_info);
  assert_true(backend->allocate && backend->release && backend->free_memory);
  assert_true(backend->write && backend->read && backend->copy && backend->fill);
  assert_true(backend->launch && backend->synchronize && backend->mark && backend->elapsed);
}

static void test_fingerprint(void **state) {
  DEVICE(state);
  gt_fingerprint fingerprint;
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  assert_string_equal(fingerprint.backend, backend->name);
  assert_true(*fingerprint.name && *fingerprint.arch && *fingerprint.driver && *fingerprint.runtime &&
              *fingerprint.compiler);
  assert_null(strpbrk(fingerprint.arch, " \t\n,"));
  assert_true(fingerprint.compute_units > 0 && fingerprint.memory_bytes > 0);
  assert_true(fingerprint.wave_size >= 1 && fingerprint.max_threads_per_block >= 64);
  assert_true(fingerprint.lds_bytes_per_block > 0 && fingerprint.last_level_cache_bytes > 0);
}

static void test_no_device(void **state) {
  DEVICE(state);
  (void)device;
  gt_device *none = NULL;
  REFUSE(backend->open(9999, &none, &fault), GT_NO_DEVICE);
  assert_null(none);
}

// --- memory
// ----------------------------------------------------------------------------------------------------------

static void test_alignment(void **state) {
  DEVICE(state);
  const size_t sizes[] = {1, 3, 255, 256, 257, 4099};
  gt_address addresses[sizeof sizes / sizeof sizes[0]];
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    addresses[i] = allocate(backend, device, sizes[i]);
    assert_int_equal(addresses[i] % 256, 0);
    for (size_t j = 0; j < i; j++)
      assert_true(addresses[i] >= addresses[j] + sizes[j] || addresses[j] >= addresses[i] + sizes[i]);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) backend->release(device, addresses[i]);
}

enum { ROOM = 9000 };

static void test_write_read(void **state) {
  DEVICE(state);
  const size_t offsets[] = {0, 1, 3, 127, 4095}, sizes[] = {1, 2, 5, 255, 1021, 4097};
  unsigned char sent[ROOM], got[ROOM];
  gt_address memory = allocate(backend, device, ROOM);
  for (size_t i = 0; i < ROOM; i++) sent[i] = pattern(i);
  for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; o++) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      size_t offset = offsets[o], size = sizes[s];
      SUCCEED(backend->fill(device, memory, 0x55555555, ROOM, &fault));
      SUCCEED(backend->write(device, memory + offset, sent, size, &fault));
      SUCCEED(backend->read(device, got, memory, ROOM, &fault));
      for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(got[i], i < offset || i >= offset + size ? 0x55 : sent[i - offset]);
      memset(got, 0, ROOM);
      SUCCEED(backend->read(device, got + 1, memory + offset, size, &fault));
      assert_memory_equal(got + 1, sent, size);
      assert_int_equal(got[0] | got[size + 1], 0);
    }
  }
  backend->release(device, memory);
}

static void test_copy(void **state) {
  DEVICE(state);
  const size_t sizes[] = {1, 6, 4097};
  unsigned char sent[ROOM], got[ROOM];
  gt_address from = allocate(backend, device, ROOM), to = allocate(backend, device, ROOM);
  for (size_t i = 0; i < ROOM; i++) sent[i] = pattern(i);
  SUCCEED(backend->write(device, from, sent, ROOM, &fault));
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    SUCCEED(backend->fill(device, to, 0, ROOM, &fault));
    SUCCEED(backend->copy(device, to + 7, from + 13, sizes[s], &fault));
    SUCCEED(backend->synchronize(device, &fault));
    SUCCEED(backend->read(device, got, to, ROOM, &fault));
    for (size_t i = 0; i < ROOM; i++)
      assert_int_equal(got[i], i < 7 || i >= 7 + sizes[s] ? 0 : sent[13 + i - 7]);
  }
  backend->release(device, from);
  backend->release(device, to);
}

static void test_fill(void **state) {
  DEVICE(state);
  uint32_t words[2048], got[2048];
  const size_t counts[] = {1, 3, 17, 1023};
  gt_address memory = allocate(backend, device, sizeof words);
  for (size_t i = 0; i < 2048; i++) words[i] = (uint32_t)i;
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
    SUCCEED(backend->write(device, memory, words, sizeof words, &fault));
    SUCCEED(backend->fill(device, memory + 5 * 4, 0x7fc12345, counts[c] * 4, &fault));
    SUCCEED(backend->read(device, got, memory, sizeof got, &fault));
    for (size_t i = 0; i < 2048; i++)
      assert_int_equal(got[i], i < 5 || i >= 5 + counts[c] ? words[i] : 0x7fc12345);
  }
  backend->release(device, memory);
}

static void test_large_fill(void **state) {
  DEVICE(state);
  size_t bytes = ((size_t)5 << 20) + 4;
  uint32_t *got = gt_alloc(bytes);
  gt_address memory = allocate(backend, device, bytes);
  SUCCEED(backend->fill(device, memory, 0xdeadbeef, bytes, &fault));
  SUCCEED(backend->read(device, got, memory, bytes, &fault));
  for (size_t i = 0; i < bytes / 4; i++)
    if (got[i] != 0xdeadbeef) fail_msg("word %zu is %08x", i, got[i]);
  free(got);
  backend->release(device, memory);
}

static void test_nothing(void **state) {
  DEVICE(state);
  unsigned char byte = 7, got = 0;
  gt_address memory = allocate(backend, device, 16);
  SUCCEED(backend->write(device, memory, &byte, 1, &fault));
  SUCCEED(backend->write(device, memory, NULL, 0, &fault));
  SUCCEED(backend->read(device, NULL, memory, 0, &fault));
  SUCCEED(backend->copy(device, memory + 8, memory, 0, &fault));
  SUCCEED(backend->fill(device, memory, 0, 0, &fault));
  SUCCEED(backend->read(device, &got, memory, 1, &fault));
  assert_int_equal(got, 7);
  backend->release(device, memory);
}

static void test_out_of_memory(void **state) {
  DEVICE(state);
  gt_address memory = 1;
  REFUSE(backend->allocate(device, (size_t)1 << 46, &memory, &fault), GT_OUT_OF_MEMORY);
  memory = allocate(backend, device, 4096); // it still gives what it has
  SUCCEED(backend->fill(device, memory, 1, 4096, &fault));
  SUCCEED(backend->synchronize(device, &fault));
  backend->release(device, memory);
}

static void test_free_memory(void **state) {
  DEVICE(state);
  gt_fingerprint fingerprint;
  uint64_t bytes = 0;
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  SUCCEED(backend->free_memory(device, &bytes, &fault));
  assert_true(bytes > 0 && bytes <= fingerprint.memory_bytes);
}

// --- code
// --------------------------------------------------------------------------------------------------------------

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
  subject *of = *state;
  const gt_backend *backend = of->backend;
  const char *arch = strcmp(of->name, "hip") == 0 ? "gfx942" : strcmp(of->name, "cuda") == 0 ? "sm_80" : NULL;
  if (!backend) device_of(state, &backend);
  if (!arch) {
    print_message("it compiles for an open device only\n");
    skip();
  }
  gt_buffer code = {0}, log = {0};
  gt_status status = backend->compile(NULL, arch, hip_source, &code, &log, &fault);
  if (status == GT_NO_LIBRARY) {
    print_message("%s\n", fault.text);
    skip();
  }
  SUCCEED(status);
  assert_true(code.length > 0);
  gt_buffer_free(&code);
  gt_buffer_free(&log);
}

// --- launches
// ------------------------------------------------------------------------------------------------------------

// Launches `number` on `n` elements in a grid and checks every element and what lies after the last.
static void number(const gt_backend *backend, gt_device *device, int n, const uint32_t grid[3],
                   const uint32_t block[3]) {
  size_t bytes = ((size_t)n + 8) * 4;
  int *values = gt_alloc(bytes);
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  gt_address in = allocate(backend, device, bytes), out = allocate(backend, device, bytes);
  for (int i = 0; i < n; i++) values[i] = i % 1000;
  SUCCEED(backend->write(device, in, values, bytes, &fault));
  SUCCEED(backend->fill(device, out, 0xabababab, bytes, &fault));
  SUCCEED(backend->kernel(device, module, "number", &kernel, &fault));
  gt_arguments arguments = {.pointers = {out + 4, in}, .n_pointers = 2, .integers = {n, -3}, .n_integers = 2};
  SUCCEED(backend->launch(device, kernel, grid, block, &arguments, &fault));
  SUCCEED(backend->synchronize(device, &fault));
  SUCCEED(backend->read(device, values, out, bytes, &fault));
  assert_int_equal((uint32_t)values[0], 0xabababab);
  for (int i = 0; i < n; i++)
    if (values[i + 1] != i % 1000 - 3 * i) fail_msg("element %d is %d", i, values[i + 1]);
  for (int i = n + 1; i < n + 8; i++) assert_int_equal((uint32_t)values[i], 0xabababab);
  backend->release(device, in);
  backend->release(device, out);
  backend->unload(device, module);
  free(values);
}

static void test_launch(void **state) {
  EXECUTING_DEVICE(state);
  number(backend, device, 1000, (uint32_t[]){16, 1, 1}, (uint32_t[]){64, 1, 1});
}

static void test_grid(void **state) {
  EXECUTING_DEVICE(state);
  number(backend, device, 3 * 5 * 64 - 7, (uint32_t[]){5, 4, 1}, (uint32_t[]){32, 2, 1});
}

static void test_order(void **state) {
  EXECUTING_DEVICE(state);
  int values[256];
  uint32_t expected[256];
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  gt_address data = allocate(backend, device, sizeof values);
  for (int i = 0; i < 256; i++) expected[i] = (uint32_t)(values[i] = i);
  SUCCEED(backend->write(device, data, values, sizeof values, &fault));
  SUCCEED(backend->kernel(device, module, "affine", &kernel, &fault));
  for (int launch = 0; launch < 20; launch++) {
    gt_arguments arguments = {.pointers = {data}, .n_pointers = 1, .integers = {3, launch}, .n_integers = 2};
    SUCCEED(
        backend->launch(device, kernel, (uint32_t[]){1, 1, 1}, (uint32_t[]){256, 1, 1}, &arguments, &fault));
    for (int i = 0; i < 256; i += 2) {
      uint32_t even = expected[i];
      expected[i] = 3 * expected[i + 1] + (uint32_t)launch;
      expected[i + 1] = 3 * even + (uint32_t)launch;
    }
  }
  SUCCEED(backend->synchronize(device, &fault));
  SUCCEED(backend->read(device, values, data, sizeof values, &fault));
  assert_memory_equal(values, expected, sizeof values);
  backend->release(device, data);
  backend->unload(device, module);
}

static void test_too_many_threads(void **state) {
  DEVICE(state);
  gt_fingerprint fingerprint;
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  gt_address data = allocate(backend, device, 4096);
  SUCCEED(backend->kernel(device, module, "number", &kernel, &fault));
  gt_arguments arguments = {.pointers = {data, data}, .n_pointers = 2, .integers = {1, 1}, .n_integers = 2};
  uint32_t most = (uint32_t)fingerprint.max_threads_per_block;
  const uint32_t grid[3] = {1, 1, 1};
  REFUSE(backend->launch(device, kernel, grid, (uint32_t[]){most, 2, 1}, &arguments, &fault), GT_LAUNCH);
  REFUSE(backend->launch(device, kernel, grid, (uint32_t[]){1u << 31, 1u << 31, 4}, &arguments, &fault),
         GT_LAUNCH);
  SUCCEED(backend->launch(device, kernel, grid, (uint32_t[]){32, 2, 1}, &arguments, &fault));
  SUCCEED(backend->synchronize(device, &fault));
  backend->release(device, data);
  backend->unload(device, module);
}

static void test_marks(void **state) {
  DEVICE(state);
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  int n = 1 << 20;
  gt_address data = allocate(backend, device, (size_t)n * 4);
  SUCCEED(backend->fill(device, data, 0, (size_t)n * 4, &fault));
  SUCCEED(backend->kernel(device, module, "number", &kernel, &fault));
  gt_arguments arguments = {.pointers = {data, data}, .n_pointers = 2, .integers = {n, 1}, .n_integers = 2};
  for (int slot = 0; slot < GT_MAX_EVENTS; slot++) {
    SUCCEED(backend->mark(device, slot, &fault));
    for (int i = 0; i < slot; i++)
      SUCCEED(backend->launch(device, kernel, (uint32_t[]){(uint32_t)n / 64, 1, 1}, (uint32_t[]){64, 1, 1},
                              &arguments, &fault));
  }
  double sum = 0, whole, step;
  for (int slot = 1; slot < GT_MAX_EVENTS; slot++) {
    SUCCEED(backend->elapsed(device, slot - 1, slot, &step, &fault));
    assert_true(step >= 0 && step < 60e6);
    if (slot > 1) assert_true(step > 0);
    sum += step;
  }
  SUCCEED(backend->elapsed(device, 0, GT_MAX_EVENTS - 1, &whole, &fault));
  // The steps of a clock of float milliseconds do not add up exactly.
  assert_true(whole > 0 && sum > 0.9 * whole - 10 && sum < 1.1 * whole + 10);
  SUCCEED(backend->mark(device, 0, &fault)); // a slot can be used again
  SUCCEED(backend->elapsed(device, 7, 0, &step, &fault));
  assert_true(step >= 0);
  REFUSE(backend->mark(device, GT_MAX_EVENTS, &fault), GT_USAGE);
  REFUSE(backend->mark(device, -1, &fault), GT_USAGE);
  backend->release(device, data);
  backend->unload(device, module);
}

static void test_synchronize(void **state) {
  DEVICE(state);
  SUCCEED(backend->synchronize(device, &fault));
  SUCCEED(backend->synchronize(device, &fault));
}

static void test_close_in_use(void **state) {
  DEVICE(state);
  (void)device;
  subject *of = *state;
  gt_device *second;
  gt_address memory;
  if (strcmp(of->name, "recorded") == 0) {
    print_message("its devices come from files\n");
    skip();
  }
  SUCCEED(backend->open(0, &second, &fault));
  SUCCEED(backend->allocate(second, 4096, &memory, &fault));
  SUCCEED(backend->fill(second, memory, 1, 4096, &fault));
  SUCCEED(backend->mark(second, 0, &fault));
  backend->release(second, memory);
  backend->close(second);
  SUCCEED(backend->synchronize(of->open.device, &fault)); // the first one is as it was
}

static const struct {
  const char *name;
  CMUnitTestFunction test;
  bool without_device;
} properties[] = {
    {"the table of functions is complete", test_table, true},
    {"a fingerprint has all its fields", test_fingerprint, false},
    {"a device that is not there does not open", test_no_device, false},
    {"addresses are multiples of 256 and apart", test_alignment, false},
    {"what is written at odd sizes and offsets is read back", test_write_read, false},
    {"a copy moves the bytes asked for and no others", test_copy, false},
    {"a fill of an odd number of words leaves its neighbours alone", test_fill, false},
    {"a fill of megabytes reaches the last word", test_large_fill, false},
    {"transfers of no bytes succeed", test_nothing, false},
    {"memory that is not there is out of memory", test_out_of_memory, false},
    {"free memory is part of the memory", test_free_memory, false},
    {"a source that does not compile gives a log", test_compile_error, false},
    {"a kernel that is not in the code is not found", test_unknown_kernel, false},
    {"code that is no code object is corrupt", test_corrupt_code, false},
    {"a code object that is cut off is corrupt", test_cut_code, false},
    {"a kernel tells its group memory or that it does not know", test_kernel_info, false},
    {"a source compiles without a device", test_compile_only, true},
    {"a kernel compiles, loads and computes", test_launch, false},
    {"a grid of two dimensions reaches every element", test_grid, false},
    {"launches run in order", test_order, false},
    {"a block of too many threads is refused and harms nothing", test_too_many_threads, false},
    {"marks follow each other in time", test_marks, false},
    {"an idle device synchronizes", test_synchronize, false},
    {"a second handle closes without harm to the first", test_close_in_use, false},
};

enum { PROPERTY_COUNT = sizeof properties / sizeof properties[0] };

// --- the program
// -----------------------------------------------------------------------------------------------------------

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
static int run(const char *name, bool required) {
  subject of;
  struct CMUnitTest tests[PROPERTY_COUNT] = {0};
  char *titles[PROPERTY_COUNT];
  prepare(&of, name, required);
  for (size_t i = 0; i < PROPERTY_COUNT; i++) {
    // A skipped test is listed by its name alone, so that this is where the reason has to be.
    bool skipped = !of.open.device && !properties[i].without_device;
    titles[i] = skipped ? gt_print("%s: %s (%.100s)", name, properties[i].name, of.reason)
                        : gt_print("%s: %s", name, properties[i].name);
    tests[i] = (struct CMUnitTest){.name = titles[i], .test_func = properties[i].test, .initial_state = &of};
  }
  int failures = cmocka_run_group_tests_name(name, tests, NULL, NULL);
  gt_device_close(&of.open);
  for (size_t i = 0; i < PROPERTY_COUNT; i++) free(titles[i]);
  return failures;
}

// Each back end has a process of its own: the compilers behind two of them may each bring a copy of LLVM, and
// LLVM aborts where it finds another one.
int main(void) {
  static const char *const names[] = {"hip", "cuda", "opencl", "recorded"};
  const char *list = getenv("GT_CONTRACT_BACKENDS");
  int failures = 0, count = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (list && !wanted(list, names[i])) continue;
    count++;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) return run(names[i], list) > 0;
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    failures += status != 0;
    if (WIFSIGNALED(status))
      printf("not ok - %s: the tests ended with signal %d\n", names[i], WTERMSIG(status));
  }
  if (count == 0) fprintf(stderr, "GT_CONTRACT_BACKENDS names no back end (hip, cuda, opencl, recorded)\n");
  return count == 0 ? 2 : failures > 0;
}
