// Programs for the emulated MI300X: AMD's real HIP runtime, loaded at run time, with the emulation below it.
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

// kernels.hip, as it is.
__asm__(".pushsection .rodata\n"
        "kernels_source: .incbin \"tests/gfx942/samples/kernels.hip\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char kernels_source[];

//
// The runtime.

// clang-format off
#define HIP_FUNCTIONS(X)                                                                                     \
  X(hipEventCreate) X(hipEventDestroy) X(hipEventElapsedTime) X(hipEventRecord) X(hipEventSynchronize)       \
  X(hipFree) X(hipFuncGetAttribute) X(hipGetDeviceCount) X(hipGetDeviceProperties) X(hipGetErrorName)        \
  X(hipHostFree) X(hipHostGetDevicePointer) X(hipHostMalloc) X(hipHostRegister) X(hipHostUnregister) X(hipMallocManaged)         \
  X(hipInit) X(hipMalloc) X(hipMemGetInfo) X(hipMemcpy) X(hipMemcpyAsync) X(hipMemset) X(hipMemsetAsync)     \
  X(hipModuleGetFunction) X(hipModuleLaunchKernel) X(hipModuleLoadData)                                      \
  X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) X(hipModuleUnload) X(hipStreamCreateWithFlags)       \
  X(hipStreamDestroy) X(hipStreamSynchronize) X(hipStreamWaitEvent)                                          \
  X(hiprtcCompileProgram) X(hiprtcCreateProgram) X(hiprtcDestroyProgram) X(hiprtcGetCode)                    \
  X(hiprtcGetCodeSize) X(hiprtcGetProgramLog) X(hiprtcGetProgramLogSize)
// clang-format on

static struct {
#define MEMBER(name) __typeof__(&name) name;
  HIP_FUNCTIONS(MEMBER)
#undef MEMBER
} rt;

static void *symbol(void *libraries[2], const char *name) {
  for (int i = 0; i < 2; i++) {
    void *found = libraries[i] ? dlsym(libraries[i], name) : NULL;
    if (found) return found;
  }
  fprintf(stderr, "no %s in the HIP runtime: %s\n", name, dlerror());
  exit(1);
}

// This version of the runtime has hiprtc in the same library; others have it in one of its own.
static void load_runtime(void) {
  void *libraries[2] = {dlopen("libamdhip64.so.5", RTLD_NOW), dlopen("libhiprtc.so.5", RTLD_NOW)};
#define LOAD(name) rt.name = (__typeof__(rt.name))symbol(libraries, #name);
  HIP_FUNCTIONS(LOAD)
#undef LOAD
}

static void check(hipError_t error, const char *call, int line) {
  if (error == hipSuccess) return;
  fprintf(stderr, "line %d: %s: %s\n", line, call, rt.hipGetErrorName(error));
  exit(1);
}
#define OK(call) check(rt.call, #call, __LINE__)

static hipModule_t kernels;

// Compiles for the device at hand and loads. `option` may be NULL.
static hipModule_t compile(const char *source, const char *option) {
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  char architecture[300];
  snprintf(architecture, sizeof architecture, "--offload-arch=%s", properties.gcnArchName);
  const char *options[] = {architecture, option};
  hiprtcProgram program;
  if (rt.hiprtcCreateProgram(&program, source, "kernels.hip", 0, NULL, NULL) != HIPRTC_SUCCESS) exit(1);
  if (rt.hiprtcCompileProgram(program, option ? 2 : 1, options) != HIPRTC_SUCCESS) {
    char log[4096] = "";
    size_t size = 0;
    rt.hiprtcGetProgramLogSize(program, &size);
    if (size <= sizeof log) rt.hiprtcGetProgramLog(program, log);
    fprintf(stderr, "%s\n", log);
    exit(1);
  }
  size_t size;
  if (rt.hiprtcGetCodeSize(program, &size) != HIPRTC_SUCCESS) exit(1);
  char *code = malloc(size);
  if (!code || rt.hiprtcGetCode(program, code) != HIPRTC_SUCCESS) exit(1);
  hipModule_t module;
  OK(hipModuleLoadData(&module, code));
  free(code);
  rt.hiprtcDestroyProgram(&program);
  return module;
}

static hipFunction_t kernel(const char *name) {
  hipFunction_t function;
  OK(hipModuleGetFunction(&function, kernels, name));
  return function;
}

static hipError_t try_launch(const char *name, unsigned blocks, unsigned items, unsigned lds,
                             hipStream_t stream, void **arguments) {
  return rt.hipModuleLaunchKernel(kernel(name), blocks, 1, 1, items, 1, 1, lds, stream, arguments, NULL);
}

static void launch(const char *name, unsigned blocks, unsigned items, unsigned lds, hipStream_t stream,
                   void **arguments) {
  check(try_launch(name, blocks, items, lds, stream, arguments), name, __LINE__);
}

static void launch_scale(unsigned *x, unsigned n, unsigned factor, unsigned increment, unsigned times,
                         hipStream_t stream) {
  launch("scale", (n + 255) / 256, 256, 0, stream, (void *[]){&x, &n, &factor, &increment, &times});
}

static void *device_memory(size_t bytes) {
  void *memory;
  OK(hipMalloc(&memory, bytes));
  return memory;
}

static void *on_device(const void *host, size_t bytes) {
  void *memory = device_memory(bytes);
  OK(hipMemcpy(memory, host, bytes, hipMemcpyHostToDevice));
  return memory;
}

static void from_device(void *host, const void *memory, size_t bytes) {
  OK(hipMemcpy(host, memory, bytes, hipMemcpyDeviceToHost));
}

static hipStream_t new_stream(void) {
  hipStream_t stream;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

static hipEvent_t new_event(void) {
  hipEvent_t event;
  OK(hipEventCreate(&event));
  return event;
}

// Device time of one launch of `scale`, with asynchronous copies to and from the device around it if `host`
// is not NULL, in milliseconds.
static float time_of_scale(unsigned *x, unsigned n, unsigned times, unsigned *host, hipStream_t stream) {
  hipEvent_t start = new_event(), stop = new_event();
  OK(hipEventRecord(start, stream));
  if (host) OK(hipMemcpyAsync(x, host, n * sizeof *x, hipMemcpyHostToDevice, stream));
  launch_scale(x, n, 3, 1, times, stream);
  if (host) OK(hipMemcpyAsync(host, x, n * sizeof *x, hipMemcpyDeviceToHost, stream));
  OK(hipEventRecord(stop, stream));
  OK(hipEventSynchronize(stop));
  float milliseconds;
  OK(hipEventElapsedTime(&milliseconds, start, stop));
  OK(hipEventDestroy(start));
  OK(hipEventDestroy(stop));
  return milliseconds;
}

//
// The same program once more, for what a process can do only once: `main` dispatches on the mode.

// Runs it with an environment variable (or "") and returns its wait status; `output` gets its stdout and
// stderr.
static int run_self(const char *variable, const char *mode, char *output, size_t size) {
  char path[4096], command[8192];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  assert_true(length > 0);
  path[length] = 0;
  snprintf(command, sizeof command, "%s exec '%s' %s 2>&1", variable, path, mode);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t got = fread(output, 1, size - 1, pipe);
  output[got] = 0;
  return pclose(pipe);
}

static void store_and_wait(unsigned *x, long long index) {
  unsigned value = 7;
  launch("store", 1, 1, 0, NULL, (void *[]){&x, &index, &value});
  OK(hipStreamSynchronize(NULL));
}

static void store_behind_the_end(void) {
  enum { WORDS = 1024 };
  store_and_wait(device_memory(WORDS * sizeof(unsigned)), WORDS);
}

static void store_to_freed_memory(void) {
  unsigned *x = device_memory(4096);
  OK(hipFree(x));
  store_and_wait(x, 0);
}

static void store_to_host_memory(void) {
  unsigned *x = malloc(1 << 20);
  store_and_wait(x, 0);
}

static void print_times(void) {
  enum { WORDS = 10000 };
  unsigned *x = device_memory(WORDS * sizeof *x), *host;
  OK(hipHostMalloc((void **)&host, WORDS * sizeof *host, 0));
  OK(hipMemset(x, 0, WORDS * sizeof *x)); // may still run, in another stream, when the measurements begin
  hipStream_t stream = new_stream();
  for (unsigned times = 1; times <= 10000; times *= 10) {
    printf("%.9g\n", time_of_scale(x, WORDS, times / 10, NULL, stream));
    printf("%.9g with copies\n", time_of_scale(x, WORDS, times / 10, host, stream));
  }
}

static void print_in_a_kernel(void) {
  hipModule_t module =
      compile("extern \"C\" __global__ void greet() { printf(\"hello %d\\n\", (int)threadIdx.x); }", NULL);
  hipFunction_t function;
  OK(hipModuleGetFunction(&function, module, "greet"));
  OK(hipModuleLaunchKernel(function, 1, 1, 1, 3, 1, 1, 0, NULL, NULL, NULL));
  OK(hipStreamSynchronize(NULL));
}

static void print_allocatable_mebibytes(void) {
  int mebibytes = 0;
  for (void *memory; rt.hipMalloc(&memory, 1 << 20) == hipSuccess;) mebibytes++;
  printf("%d\n", mebibytes);
}

// Allocates more than there is, once at first and once beside an allocation that fits. Prints by how much
// that allocation changes the free memory, and by how much all together does.
static void print_changes_of_free_memory(void) {
  const size_t most = (size_t)10 << 30;
  size_t before, during, after, total;
  void *too_much;
  if (rt.hipMalloc(&too_much, 4 * most) != hipErrorOutOfMemory) exit(1);
  OK(hipMemGetInfo(&before, &total));
  void *memory = device_memory(most);
  OK(hipMemGetInfo(&during, &total));
  if (rt.hipMalloc(&too_much, most) != hipErrorOutOfMemory) exit(1);
  OK(hipFree(memory));
  OK(hipMemGetInfo(&after, &total));
  printf("%lld %lld\n", (long long)(before - during), (long long)(before - after));
}

//
// Tests.

static void the_device_reports_an_mi300x(void **state) {
  (void)state;
  int count;
  OK(hipGetDeviceCount(&count));
  assert_int_equal(count, 1);
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  assert_non_null(strstr(properties.name, "MI300X"));
  assert_memory_equal(properties.gcnArchName, "gfx942", 6);
  assert_int_equal(properties.multiProcessorCount, 304);
  assert_int_equal(properties.warpSize, 64);
  assert_int_equal(properties.sharedMemPerBlock, 64 << 10);
  assert_int_equal(properties.maxThreadsPerBlock, 1024);
  assert_true(properties.totalGlobalMem > (size_t)15 << 30);
}

static void a_kernel_computes_what_the_host_computes(void **state) {
  (void)state;
  enum { N = 1000, TERMS = 5 };
  float a[N], b[N], result[N], total = 0, expected_total = 0;
  for (int i = 0; i < N; i++) {
    a[i] = (float)(i * 7919 % 101 - 50) / 64;
    b[i] = (float)(i * 104729 % 97 - 48) / 32;
  }
  float *da = on_device(a, sizeof a), *db = on_device(b, sizeof b), *dtotal = on_device(&total, sizeof total);
  float *dresult = device_memory(sizeof result);
  unsigned long long n = N;
  int terms = TERMS;
  launch("dot", (N + 255) / 256, 256, 0, NULL, (void *[]){&da, &db, &dresult, &dtotal, &n, &terms});
  from_device(result, dresult, sizeof result);
  from_device(&total, dtotal, sizeof total);
  for (int i = 0; i < N; i++) {
    float expected = 0;
    for (int k = 0; k < TERMS; k++) expected = fmaf(a[(i + k) % N], b[i], expected);
    assert_true(result[i] == expected);
    expected_total += expected;
  }
  assert_true(fabsf(total - expected_total) < 0.01f);
  OK(hipFree(da));
  OK(hipFree(db));
  OK(hipFree(dresult));
  OK(hipFree(dtotal));
}

static void work_items_share_lds_between_barriers(void **state) {
  (void)state;
  enum { N = 64 };
  static float a[N][N], c[N][N];
  for (int i = 0; i < N * N; i++) a[i / N][i % N] = (float)(i * 7919 % 13 - 6);
  float *da = on_device(a, sizeof a), *dc = device_memory(sizeof c);
  int n = N;
  OK(hipModuleLaunchKernel(kernel("multiply"), N / 16, N / 16, 1, 16, 16, 1, 0, NULL,
                           (void *[]){&da, &da, &dc, &n}, NULL));
  from_device(c, dc, sizeof c);
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      float expected = 0;
      for (int k = 0; k < N; k++) expected += a[i][k] * a[k][j];
      assert_true(c[i][j] == expected);
    }
  }
  OK(hipFree(da));
  OK(hipFree(dc));
}

static void a_launch_gives_the_size_of_lds(void **state) {
  (void)state;
  enum { ITEMS = 1024 };
  unsigned values[ITEMS];
  for (unsigned i = 0; i < ITEMS; i++) values[i] = i;
  unsigned *x = on_device(values, sizeof values);
  launch("reverse", 1, ITEMS, sizeof values, NULL, (void *[]){&x});
  from_device(values, x, sizeof values);
  for (unsigned i = 0; i < ITEMS; i++) assert_int_equal(values[i], ITEMS - 1 - i);
  OK(hipFree(x));
}

static void atomics_of_all_workgroups_add_up(void **state) {
  (void)state;
  unsigned counts[10] = {0}, n = 10007;
  unsigned *x = on_device(counts, sizeof counts);
  launch("histogram", (n + 127) / 128, 128, 0, NULL, (void *[]){&x, &n});
  from_device(counts, x, sizeof counts);
  for (unsigned i = 0; i < 10; i++) assert_int_equal(counts[i], i < 7 ? 1001 : 1000);
  OK(hipFree(x));
}

static void a_stream_keeps_the_order_of_copies_and_kernels(void **state) {
  (void)state;
  enum { N = 1 << 16 };
  unsigned *host, *x = device_memory(N * sizeof *x);
  OK(hipHostMalloc((void **)&host, N * sizeof *host, 0));
  for (unsigned i = 0; i < N; i++) host[i] = i;
  hipStream_t stream = new_stream();
  OK(hipMemcpyAsync(x, host, N * sizeof *x, hipMemcpyHostToDevice, stream));
  launch_scale(x, N, 2, 1, 1, stream);
  launch_scale(x, N, 3, 0, 1, stream);
  OK(hipMemcpyAsync(host, x, N * sizeof *x, hipMemcpyDeviceToHost, stream));
  OK(hipMemsetAsync(x, 0, N * sizeof *x, stream));
  OK(hipStreamSynchronize(stream));
  for (unsigned i = 0; i < N; i++) assert_int_equal(host[i], 3 * (2 * i + 1));
  OK(hipStreamDestroy(stream));
  OK(hipHostFree(host));
  OK(hipFree(x));
}

static void a_stream_waits_for_the_event_of_another(void **state) {
  (void)state;
  enum { N = 4096 };
  unsigned *x = device_memory(N * sizeof *x), values[N];
  OK(hipMemset(x, 0, N * sizeof *x));
  hipStream_t first = new_stream(), second = new_stream();
  hipEvent_t done = new_event();
  launch_scale(x, N, 1, 1, 2000, first);
  OK(hipEventRecord(done, first));
  OK(hipStreamWaitEvent(second, done, 0));
  launch_scale(x, N, 2, 0, 1, second);
  OK(hipStreamSynchronize(second));
  from_device(values, x, sizeof values);
  for (unsigned i = 0; i < N; i++) assert_int_equal(values[i], 4000);
  OK(hipEventDestroy(done));
  OK(hipStreamDestroy(first));
  OK(hipStreamDestroy(second));
  OK(hipFree(x));
}

static void many_streams_work_at_once(void **state) {
  (void)state;
  enum { STREAMS = 12, N = 2000 };
  hipStream_t streams[STREAMS];
  unsigned *x[STREAMS], values[N];
  for (unsigned s = 0; s < STREAMS; s++) {
    streams[s] = new_stream();
    x[s] = device_memory(N * sizeof *x[s]);
    OK(hipMemsetAsync(x[s], 0, N * sizeof *x[s], streams[s]));
  }
  for (unsigned s = 0; s < STREAMS; s++) launch_scale(x[s], N, 1, s, 10, streams[s]);
  for (unsigned s = 0; s < STREAMS; s++) launch_scale(x[s], N, 2, 1, 1, streams[s]);
  for (unsigned s = 0; s < STREAMS; s++) {
    OK(hipStreamSynchronize(streams[s]));
    from_device(values, x[s], sizeof values);
    for (unsigned i = 0; i < N; i++) assert_int_equal(values[i], 2 * 10 * s + 1);
    OK(hipStreamDestroy(streams[s]));
    OK(hipFree(x[s]));
  }
}

static void large_copies_and_fills_arrive_whole(void **state) {
  (void)state;
  enum { BYTES = (8 << 20) + 12 };
  unsigned char *host = malloc(BYTES), *back = malloc(BYTES);
  assert_true(host && back);
  for (size_t i = 0; i < BYTES; i++) host[i] = (unsigned char)(i * 31 >> 3);
  unsigned char *x = on_device(host, BYTES), *y = device_memory(BYTES);
  OK(hipMemset(y, 5, BYTES));
  from_device(back, y, BYTES);
  for (size_t i = 0; i < BYTES; i++) assert_true(back[i] == 5);
  OK(hipMemcpy(y, x, BYTES, hipMemcpyDeviceToDevice));
  from_device(back, y, BYTES);
  assert_memory_equal(back, host, BYTES);
  OK(hipFree(x));
  OK(hipFree(y));
  free(host);
  free(back);
}

static void a_kernel_may_use_registered_host_memory(void **state) {
  (void)state;
  enum { N = 3000 };
  unsigned *host = malloc(N * sizeof *host), *x;
  assert_non_null(host);
  for (unsigned i = 0; i < N; i++) host[i] = i;
  OK(hipHostRegister(host, N * sizeof *host, hipHostRegisterDefault));
  OK(hipHostGetDevicePointer((void **)&x, host, 0));
  launch_scale(x, N, 5, 2, 1, NULL);
  OK(hipStreamSynchronize(NULL));
  for (unsigned i = 0; i < N; i++) assert_int_equal(host[i], 5 * i + 2);
  OK(hipHostUnregister(host));
  free(host);
}

static void a_kernel_may_use_managed_memory(void **state) {
  (void)state;
  enum { N = 3000 };
  unsigned *x;
  OK(hipMallocManaged((void **)&x, N * sizeof *x, hipMemAttachGlobal));
  for (unsigned i = 0; i < N; i++) x[i] = i;
  launch_scale(x, N, 5, 2, 1, NULL);
  OK(hipStreamSynchronize(NULL));
  for (unsigned i = 0; i < N; i++) assert_int_equal(x[i], 5 * i + 2);
  OK(hipFree(x));
}

static void a_kernel_prints(void **state) {
  (void)state;
  char output[4096];
  assert_int_equal(run_self("", "print-in-a-kernel", output, sizeof output), 0);
  assert_string_equal(output, "hello 0\nhello 1\nhello 2\n");
}

static void a_kernel_reports_its_resources(void **state) {
  (void)state;
  int registers, lds, blocks;
  OK(hipFuncGetAttribute(&registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, kernel("multiply")));
  OK(hipFuncGetAttribute(&lds, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel("multiply")));
  OK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel("multiply"), 256, 0));
  assert_true(registers > 0);
  assert_int_equal(lds, 2 * 16 * 16 * sizeof(float));
  assert_in_range(blocks, 1, 8);
}

static void new_code_at_an_old_address_is_seen(void **state) {
  (void)state;
  const char *source = "extern \"C\" __global__ void answer(unsigned *x) { *x = ANSWER; }";
  unsigned *x = device_memory(sizeof *x);
  for (unsigned i = 1; i <= 3; i++) {
    char option[32];
    snprintf(option, sizeof option, "-DANSWER=%u", i);
    hipModule_t module = compile(source, option);
    hipFunction_t function;
    OK(hipModuleGetFunction(&function, module, "answer"));
    OK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&x}, NULL));
    unsigned answer;
    from_device(&answer, x, sizeof answer);
    assert_int_equal(answer, i);
    OK(hipModuleUnload(module));
  }
  OK(hipFree(x));
}

static void launches_that_the_device_cannot_run_are_refused(void **state) {
  (void)state;
  unsigned *x = device_memory(8192);
  void *arguments[] = {&x};
  assert_int_equal(try_launch("reverse", 1, 2048, 1024, NULL, arguments), hipErrorInvalidValue);
  assert_int_equal(try_launch("reverse", 1, 256, 70000, NULL, arguments), hipErrorInvalidValue);
  assert_int_equal(try_launch("reverse", 0, 256, 1024, NULL, arguments), hipErrorInvalidValue);
  hipFunction_t function;
  assert_int_equal(rt.hipModuleGetFunction(&function, kernels, "no_such_kernel"), hipErrorNotFound);
  launch("reverse", 1, 256, 1024, NULL, arguments); // and then it goes on
  OK(hipStreamSynchronize(NULL));
  OK(hipFree(x));
}

// In a process that launches no kernel. The runtime keeps a kernel's arguments, and memory that was freed
// since, until a thread of its own has seen the kernel's end, which may be well after who waited for the
// stream has: memory of earlier tests would come back during this one.
static void more_memory_than_the_device_has_is_refused(void **state) {
  (void)state;
  char output[4096];
  assert_int_equal(run_self("", "changes-of-free-memory", output, sizeof output), 0);
  assert_string_equal(output, "10737418240 0\n");
}

static void the_environment_limits_device_memory(void **state) {
  (void)state;
  char output[4096];
  assert_int_equal(run_self("GFX942_MEMORY=67108864", "allocatable-mebibytes", output, sizeof output), 0);
  int mebibytes = atoi(output);
  assert_in_range(mebibytes, 32, 64);
}

static void more_work_takes_more_device_time(void **state) {
  (void)state;
  enum { N = 4096 };
  unsigned *x = device_memory(N * sizeof *x);
  float little = time_of_scale(x, N, 10, NULL, NULL), much = time_of_scale(x, N, 1000, NULL, NULL);
  assert_true(little > 0 && much > little);
  OK(hipFree(x));
}

static void event_times_are_the_same_in_every_run(void **state) {
  (void)state;
  char first[4096], second[4096], third[4096];
  assert_int_equal(run_self("", "times", first, sizeof first), 0);
  assert_int_equal(run_self("", "times", second, sizeof second), 0);
  assert_int_equal(run_self("GFX942_THREADS=1", "times", third, sizeof third), 0);
  assert_non_null(strstr(first, "with copies"));
  assert_string_equal(first, second);
  assert_string_equal(first, third);
}

static void ends_with_a_memory_fault(const char *mode) {
  char output[4096];
  int status = run_self("ulimit -c 0;", mode, output, sizeof output);
  if (!strstr(output, "gfx942 emulation: memory access fault: ")) fail_msg("%s", output);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void a_store_behind_an_allocation_ends_the_process(void **state) {
  (void)state;
  ends_with_a_memory_fault("store-behind-the-end");
}

static void a_store_to_freed_memory_ends_the_process(void **state) {
  (void)state;
  ends_with_a_memory_fault("store-to-freed-memory");
}

static void a_store_to_memory_that_only_the_host_may_use_ends_the_process(void **state) {
  (void)state;
  ends_with_a_memory_fault("store-to-host-memory");
}

static void programs_of_the_machine_run_as_ever_below(void **state) {
  (void)state;
  assert_int_equal(system("/bin/ls / >/dev/null"), 0);
}

static const struct {
  const char *mode;
  void (*run)(void);
} modes[] = {{"times", print_times},
             {"print-in-a-kernel", print_in_a_kernel},
             {"changes-of-free-memory", print_changes_of_free_memory},
             {"allocatable-mebibytes", print_allocatable_mebibytes},
             {"store-behind-the-end", store_behind_the_end},
             {"store-to-freed-memory", store_to_freed_memory},
             {"store-to-host-memory", store_to_host_memory}};

int main(int argc, char **argv) {
  load_runtime();
  OK(hipInit(0));
  kernels = compile(kernels_source, NULL);
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(argv[1], modes[i].mode)) continue;
    modes[i].run();
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_device_reports_an_mi300x),
      cmocka_unit_test(a_kernel_computes_what_the_host_computes),
      cmocka_unit_test(work_items_share_lds_between_barriers),
      cmocka_unit_test(a_launch_gives_the_size_of_lds),
      cmocka_unit_test(atomics_of_all_workgroups_add_up),
      cmocka_unit_test(a_stream_keeps_the_order_of_copies_and_kernels),
      cmocka_unit_test(a_stream_waits_for_the_event_of_another),
      cmocka_unit_test(many_streams_work_at_once),
      cmocka_unit_test(large_copies_and_fills_arrive_whole),
      cmocka_unit_test(a_kernel_may_use_registered_host_memory),
      cmocka_unit_test(a_kernel_may_use_managed_memory),
      cmocka_unit_test(a_kernel_prints),
      cmocka_unit_test(a_kernel_reports_its_resources),
      cmocka_unit_test(new_code_at_an_old_address_is_seen),
      cmocka_unit_test(launches_that_the_device_cannot_run_are_refused),
      cmocka_unit_test(more_memory_than_the_device_has_is_refused),
      cmocka_unit_test(the_environment_limits_device_memory),
      cmocka_unit_test(more_work_takes_more_device_time),
      cmocka_unit_test(event_times_are_the_same_in_every_run),
      cmocka_unit_test(a_store_behind_an_allocation_ends_the_process),
      cmocka_unit_test(a_store_to_freed_memory_ends_the_process),
      cmocka_unit_test(a_store_to_memory_that_only_the_host_may_use_ends_the_process),
      cmocka_unit_test(programs_of_the_machine_run_as_ever_below),
  };
  return cmocka_run_group_tests_name("emulated MI300X", tests, NULL, NULL);
}
