// The recorded back end: memory of the host, a clock that only launches move, and failures on demand.
#include "device/recorded.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/recorded_script.h"

#define ALIGNMENT 256
#define HEADER_LINES 16 // of a source: where its problem and configuration are looked for

typedef struct {
  gt_address address;
  size_t bytes;
} allocation;

struct gt_device {
  gt_recorded_script script;
  bool lost;
  // In picoseconds: sums of whole numbers do not depend on what came before, so that times repeat exactly.
  uint64_t clock;
  uint64_t marks[GT_MAX_EVENTS];
  bool marked[GT_MAX_EVENTS];
  allocation *allocations;
  size_t n_allocations;
  uint64_t allocated_bytes;
  pthread_mutex_t launching;
};

struct gt_module {
  char *source, *problem, *configuration;
  const gt_recorded_rule *rule;
  gt_kernel *kernels;
};

struct gt_kernel {
  gt_module *module;
  size_t launches;
  gt_kernel *next;
};

static gt_status check(const gt_device *device, gt_error *error) {
  return device->lost ? gt_fail(error, GT_DEVICE_LOST, "recorded: the device is lost") : GT_OK;
}

_Noreturn static void hang(void) {
  for (;;) pause();
}

// Takes real time.
static void rest(double seconds) {
  if (seconds > 0)
    nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))}, NULL);
}

// --- devices -------------------------------------------------------------------------------------

static gt_status recorded_count(int *count, gt_error *error) {
  (void)error;
  *count = 0;
  return GT_OK;
}

static gt_status recorded_open(int index, gt_device **device, gt_error *error) {
  *device = NULL;
  return gt_fail(error, GT_NO_DEVICE, "recorded: there is no device %d: name a file, recorded:FILE", index);
}

gt_status gt_recorded_open(const char *path, gt_device **device, gt_error *error) {
  *device = NULL;
  gt_recorded_script script;
  gt_status status = gt_recorded_script_read(path, &script, error);
  if (status) return status;
  *device = gt_alloc(sizeof **device);
  (*device)->script = script;
  pthread_mutex_init(&(*device)->launching, NULL);
  return GT_OK;
}

static void recorded_close(gt_device *device) {
  if (!device) return;
  for (size_t i = 0; i < device->n_allocations; i++) free((void *)(uintptr_t)device->allocations[i].address);
  free(device->allocations);
  gt_recorded_script_free(&device->script);
  pthread_mutex_destroy(&device->launching);
  free(device);
}

static gt_status recorded_attach(void *queue, gt_device **device, int *index, gt_error *error) {
  (void)queue, (void)index;
  *device = NULL;
  return gt_fail(error, GT_UNSUPPORTED, "recorded: no program uses it: name a file, recorded:FILE");
}

static gt_status recorded_fingerprint(gt_device *device, gt_fingerprint *fingerprint, gt_error *error) {
  (void)error;
  *fingerprint = device->script.fingerprint;
  return GT_OK;
}

// --- code ----------------------------------------------------------------------------------------

// The rest of the line that begins with `mark`, among the first lines of a source; empty when there is none.
static char *header_line(const char *source, const char *mark) {
  for (int i = 0; i < HEADER_LINES && *source; i++) {
    size_t length = strcspn(source, "\n"), skip = strlen(mark);
    if (strncmp(source, mark, skip) == 0) return gt_print("%.*s", (int)(length - skip), source + skip);
    source += length + (source[length] == '\n');
  }
  return gt_strdup("");
}

static const gt_recorded_rule *rule_of(const gt_device *device, const char *source, char **problem,
                                       char **configuration) {
  *problem = header_line(source, "// problem: ");
  *configuration = header_line(source, "// configuration: ");
  return gt_recorded_script_find(&device->script, *problem, *configuration);
}

static gt_status recorded_compile(gt_device *device, const char *arch, const char *source, gt_buffer *code,
                                  gt_buffer *log, gt_error *error) {
  if (!device) return gt_fail(error, GT_UNSUPPORTED, "recorded: compiling needs an open device");
  if (arch && strcmp(arch, device->script.fingerprint.arch) != 0)
    return gt_fail(error, GT_UNSUPPORTED, "recorded: compiles for %s only, not for %.100s",
                   device->script.fingerprint.arch, arch);
  gt_status status = check(device, error);
  if (status) return status;
  char *problem, *configuration;
  const gt_recorded_rule *rule = rule_of(device, source, &problem, &configuration);
  gt_action action = rule ? rule->action : GT_ACTION_RUN;
  if (action == GT_ACTION_COMPILE_HANG) hang();
  if (action == GT_ACTION_COMPILE_CRASH) abort();
  rest(rule && rule->compile_seconds >= 0 ? rule->compile_seconds : device->script.compile_seconds);
  if (action == GT_ACTION_COMPILE_ERROR) {
    gt_buffer_print(log, "%s: error: the script says so\n", configuration);
    status = gt_fail(error, GT_COMPILE, "recorded: the source does not compile: %.300s: the script says so",
                     configuration);
  } else {
    gt_buffer_append(code, source, strlen(source));
  }
  free(problem);
  free(configuration);
  return status;
}

static gt_status recorded_load(gt_device *device, const void *code, size_t size, gt_module **module,
                               gt_error *error) {
  *module = NULL;
  gt_status status = check(device, error);
  if (status) return status;
  if (size == 0 || memchr(code, 0, size))
    return gt_fail(error, GT_CORRUPT, "recorded: the code object is no source");
  gt_module *made = gt_alloc(sizeof *made);
  made->source = gt_alloc(size + 1);
  memcpy(made->source, code, size);
  made->rule = rule_of(device, made->source, &made->problem, &made->configuration);
  *module = made;
  return GT_OK;
}

static void recorded_unload(gt_device *device, gt_module *module) {
  (void)device;
  if (!module) return;
  if (module->rule && module->rule->action == GT_ACTION_UNLOAD_CRASH) abort();
  for (gt_kernel *kernel = module->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    free(kernel);
  }
  free(module->source);
  free(module->problem);
  free(module->configuration);
  free(module);
}

static bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool names(const char *source, const char *name) {
  size_t length = strlen(name);
  for (const char *at = source; length && (at = strstr(at, name)); at++)
    if ((at == source || !is_word(at[-1])) && !is_word(at[length])) return true;
  return false;
}

static gt_status recorded_kernel(gt_device *device, gt_module *module, const char *name, gt_kernel **kernel,
                                 gt_error *error) {
  *kernel = NULL;
  gt_status status = check(device, error);
  if (status) return status;
  if (!names(module->source, name))
    return gt_fail(error, GT_NOT_FOUND, "recorded: the code object has no kernel '%.200s'", name);
  gt_kernel *made = gt_alloc(sizeof *made);
  *made = (gt_kernel){.module = module, .next = module->kernels};
  module->kernels = made;
  *kernel = made;
  return GT_OK;
}

static gt_status recorded_kernel_info(gt_device *device, gt_kernel *kernel, gt_kernel_info *info,
                                      gt_error *error) {
  (void)kernel, (void)error;
  *info = (gt_kernel_info){-1, -1, -1, device->script.fingerprint.max_threads_per_block};
  return GT_OK;
}

bool gt_recorded_wrong(const gt_kernel *kernel) {
  return kernel->module->rule && kernel->module->rule->action == GT_ACTION_WRONG;
}

// --- memory --------------------------------------------------------------------------------------

static gt_status recorded_allocate(gt_device *device, size_t bytes, gt_address *address, gt_error *error) {
  *address = 0;
  gt_status status = check(device, error);
  if (status) return status;
  uint64_t left = device->script.fingerprint.memory_bytes - device->allocated_bytes;
  void *memory = NULL;
  if (bytes > left || posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1))
    return gt_fail(error, GT_OUT_OF_MEMORY, "recorded: no %zu bytes of memory (%" PRIu64 " are left)", bytes,
                   left);
  *address = (gt_address)(uintptr_t)memory;
  device->allocations =
      gt_realloc(device->allocations, (device->n_allocations + 1) * sizeof *device->allocations);
  device->allocations[device->n_allocations++] = (allocation){*address, bytes};
  device->allocated_bytes += bytes;
  return GT_OK;
}

static void recorded_release(gt_device *device, gt_address address) {
  for (size_t i = 0; i < device->n_allocations; i++) {
    if (device->allocations[i].address != address) continue;
    device->allocated_bytes -= device->allocations[i].bytes;
    free((void *)(uintptr_t)address);
    device->allocations[i] = device->allocations[--device->n_allocations];
    return;
  }
}

static gt_status recorded_free_memory(gt_device *device, uint64_t *bytes, gt_error *error) {
  *bytes = device->script.fingerprint.memory_bytes - device->allocated_bytes;
  return check(device, error);
}

// The memory at an address. NULL, and an error, when the bytes do not all lie in one allocation.
static void *memory_at(const gt_device *device, gt_address address, size_t bytes, gt_error *error) {
  if (check(device, error)) return NULL;
  for (size_t i = 0; i < device->n_allocations; i++) {
    gt_address start = device->allocations[i].address;
    size_t size = device->allocations[i].bytes;
    if (address >= start && address - start <= size && bytes <= size - (address - start))
      return (void *)(uintptr_t)address;
  }
  gt_fail(error, GT_FAILED, "recorded: %zu bytes at 0x%" PRIx64 " are not memory of the device", bytes,
          address);
  return NULL;
}

static gt_status outcome(const gt_device *device) {
  return device->lost ? GT_DEVICE_LOST : GT_FAILED;
}

static gt_status recorded_write(gt_device *device, gt_address to, const void *from, size_t bytes,
                                gt_error *error) {
  void *memory = memory_at(device, to, bytes, error);
  if (!memory) return outcome(device);
  if (bytes) memcpy(memory, from, bytes);
  return GT_OK;
}

static gt_status recorded_read(gt_device *device, void *to, gt_address from, size_t bytes, gt_error *error) {
  const void *memory = memory_at(device, from, bytes, error);
  if (!memory) return outcome(device);
  if (bytes) memcpy(to, memory, bytes);
  return GT_OK;
}

static gt_status recorded_copy(gt_device *device, gt_address to, gt_address from, size_t bytes,
                               gt_error *error) {
  const void *memory = memory_at(device, from, bytes, error);
  return memory ? recorded_write(device, to, memory, bytes, error) : outcome(device);
}

static gt_status recorded_fill(gt_device *device, gt_address to, uint32_t word, size_t bytes,
                               gt_error *error) {
  if (bytes % sizeof word || to % sizeof word)
    return gt_fail(error, GT_USAGE, "recorded: a fill is of whole, aligned words of 4 bytes");
  uint32_t *memory = memory_at(device, to, bytes, error);
  if (!memory) return outcome(device);
  for (size_t i = 0; i < bytes / sizeof word; i++) memory[i] = word;
  return GT_OK;
}

// --- launches and times --------------------------------------------------------------------------

static void note_launch(const char *path, const char *configuration) {
  char *line = gt_print("%s\n", configuration);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  // In one write: the process may be killed before and after, not within.
  if (file < 0 || write(file, line, strlen(line)) < 0) perror(path);
  if (file >= 0) close(file);
  free(line);
}

static gt_status run_kernel(gt_device *device, gt_kernel *kernel, const uint32_t grid[3],
                            const uint32_t block[3], gt_error *error) {
  gt_status status = check(device, error);
  if (status) return status;
  const gt_module *module = kernel->module;
  uint64_t threads = 1, most = (uint64_t)device->script.fingerprint.max_threads_per_block;
  for (int i = 0; i < 3; i++) {
    if (grid[i] == 0 || block[i] == 0)
      return gt_fail(error, GT_LAUNCH, "recorded: a grid or block of size 0");
    threads = threads <= most ? threads * block[i] : threads;
  }
  if (threads > most)
    return gt_fail(error, GT_LAUNCH, "recorded: %" PRIu64 " threads per block are more than %" PRIu64,
                   threads, most);
  if (kernel->launches == 0 && device->script.journal)
    note_launch(device->script.journal, module->configuration);
  switch (module->rule ? module->rule->action : GT_ACTION_RUN) {
  case GT_ACTION_CRASH:
    abort();
  case GT_ACTION_HANG:
    hang();
  case GT_ACTION_EXIT:
    _exit(3);
  case GT_ACTION_KILL:
    raise(SIGKILL);
    break;
  case GT_ACTION_LAUNCH_ERROR:
    return gt_fail(error, GT_LAUNCH, "recorded: the kernel does not launch: the script says so");
  case GT_ACTION_DEVICE_LOST:
    device->lost = true;
    return check(device, error);
  default:
    break;
  }
  if (kernel->launches == 0) rest(device->script.check_seconds);
  double microseconds =
      gt_recorded_script_time(&device->script, module->rule, module->configuration, kernel->launches++);
  device->clock += (uint64_t)(microseconds * 1e6 + 0.5);
  return GT_OK;
}

static gt_status recorded_launch_on(gt_device *device, void *stream, gt_kernel *kernel,
                                    const uint32_t grid[3], const uint32_t block[3],
                                    const gt_arguments *arguments, gt_error *error) {
  (void)stream, (void)arguments;
  pthread_mutex_lock(&device->launching);
  gt_status status = run_kernel(device, kernel, grid, block, error);
  pthread_mutex_unlock(&device->launching);
  return status;
}

static gt_status recorded_launch(gt_device *device, gt_kernel *kernel, const uint32_t grid[3],
                                 const uint32_t block[3], const gt_arguments *arguments, gt_error *error) {
  return recorded_launch_on(device, NULL, kernel, grid, block, arguments, error);
}

static gt_status recorded_synchronize(gt_device *device, gt_error *error) {
  return check(device, error);
}

static gt_status recorded_mark(gt_device *device, int slot, gt_error *error) {
  if (slot < 0 || slot >= GT_MAX_EVENTS)
    return gt_fail(error, GT_USAGE, "recorded: there is no mark %d", slot);
  device->marks[slot] = device->clock;
  device->marked[slot] = true;
  return check(device, error);
}

static gt_status recorded_elapsed(gt_device *device, int from, int to, double *microseconds,
                                  gt_error *error) {
  for (int i = 0; i < 2; i++) {
    int slot = i ? to : from;
    if (slot < 0 || slot >= GT_MAX_EVENTS || !device->marked[slot])
      return gt_fail(error, GT_USAGE, "recorded: mark %d was not set", slot);
  }
  *microseconds = (double)(int64_t)(device->marks[to] - device->marks[from]) / 1e6;
  return check(device, error);
}

static gt_readings recorded_readings(gt_device *device) {
  return device->script.readings;
}

const gt_backend gt_backend_recorded = {
    .version = GT_BACKEND_VERSION,
    .name = "recorded",
    .target = GT_TARGET_HIP, // of the imaginary GPU; a file's own target is in its fingerprint
    .compile_options = "",
    .executes = false,
    .count = recorded_count,
    .open = recorded_open,
    .close = recorded_close,
    .attach = recorded_attach,
    .fingerprint = recorded_fingerprint,
    .compile = recorded_compile,
    .load = recorded_load,
    .unload = recorded_unload,
    .kernel = recorded_kernel,
    .kernel_info = recorded_kernel_info,
    .allocate = recorded_allocate,
    .release = recorded_release,
    .free_memory = recorded_free_memory,
    .write = recorded_write,
    .read = recorded_read,
    .copy = recorded_copy,
    .fill = recorded_fill,
    .launch = recorded_launch,
    .launch_on = recorded_launch_on,
    .synchronize = recorded_synchronize,
    .mark = recorded_mark,
    .elapsed = recorded_elapsed,
    .readings = recorded_readings,
};
