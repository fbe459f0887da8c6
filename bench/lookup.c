// How fast libgathertune answers: requests made before, first requests, opening, executing. Prints one line
// per number, with the target that the project sets itself.
//
//     build/bench/lookup [DEVICE]     recorded (default: no driver in the way), opencl:0 or cuda:0
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "bench/bare_launch.h"
#include "cache/cache.h"
#include "device/device.h"
#include "generator/generator.h"
#include "include/gathertune.h"

enum { TUNED = 10000, REQUESTS = 200000, BATCH = 100, THREADS = 8, FIRST = 50, LAUNCHES = 1000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

static double quantile(double *values, size_t count, double q) {
  qsort(values, count, sizeof *values, by_value);
  size_t at = (size_t)(q * (double)count);
  return values[at < count ? at : count - 1];
}

static _Noreturn void give_up(const char *text) {
  fprintf(stderr, "bench/lookup: %s\n", text);
  exit(1);
}

static void report(const char *what, double value, const char *unit, const char *target) {
  printf("%-64s %10.3f %-3s (%s)\n", what, value, unit, target);
}

// --- a cache of many problems
// ---------------------------------------------------------------------------------

static void problem_text(int number, char text[256]) {
  snprintf(text, 256, "upsample_bilinear2d_backward:n=8,c=64,in=%dx%d,out=%dx%d,dtype=f16", 16 + number % 100,
           16 + number / 100, 2 * (16 + number % 100), 2 * (16 + number / 100));
}

// One winner, tuned for all of them: a real code object, or on the scripted device a source. The first ones say of
// which source it should be, so that they are not stale.
static void make_cache(const char *path, const gt_open_device *open, const char *program,
                       const char *device) {
  gt_error error = {0};
  gt_cache *cache;
  gt_winner winner;
  gt_problem problem;
  gt_generator *generator;
  char text[256];
  problem_text(0, text);
  char *command = gt_print(
      "'%s' tune '%s' --device %s --budget 1 --families direct --batch-us 10 --cache '%s' >/dev/null 2>&1",
      program, text, device, path);
  if (system(command) != 0) give_up(command);
  free(command);
  if (gt_cache_open(path, GT_CACHE_WRITE, &cache, &error) || gt_problem_parse(text, &problem, &error) ||
      gt_cache_get_winner(cache, &open->fingerprint, &problem, true, &winner, &error))
    give_up(error.text);
  if (gt_generator_open(NULL, &generator, &error)) give_up(error.text);
  for (int i = 1; i < TUNED; i++) {
    gt_variant now = {0};
    problem_text(i, text);
    if (gt_problem_parse(text, &problem, &error) ||
        (i < FIRST && gt_render(generator, winner.variant.configuration, &problem, &open->fingerprint, &now, &error)))
      give_up(error.text);
    if (now.source) memcpy(winner.variant.source_hash, now.source_hash, sizeof now.source_hash);
    gt_variant_free(&now);
    if (gt_cache_put_winner(cache, &open->fingerprint, &problem, &winner, &error))
      give_up(error.text);
  }
  gt_generator_close(generator);
  gt_winner_free(&winner);
  gt_cache_close(cache);
}

static double resident_mb(void) {
  long pages = 0, all;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (file) fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static gathertune_context *open_context(const gathertune_options *options) {
  gathertune_context *context;
  if (gathertune_open(options, &context)) give_up(gathertune_message(context));
  return context;
}

// --- requests
// -----------------------------------------------------------------------------------------------

typedef struct {
  gathertune_context *context;
  _Atomic int *ready;
  double *batches, *singles; // ns per request
} asker;

static const gathertune_plan *ask(gathertune_context *context, const char *text) {
  const gathertune_plan *plan;
  if (gathertune_get_plan(context, text, 0, &plan)) give_up(gathertune_message(context));
  return plan;
}

static void *ask_often(void *argument) {
  asker *a = argument;
  char texts[FIRST][256];
  for (int i = 0; i < FIRST; i++) problem_text(i, texts[i]);
  atomic_fetch_add(a->ready, -1);
  while (atomic_load(a->ready) > 0) continue;
  for (int i = 0; i < REQUESTS / BATCH; i++) {
    double start = now_ns();
    for (int k = 0; k < BATCH; k++) ask(a->context, texts[(i + k) % FIRST]);
    a->batches[i] = (now_ns() - start) / BATCH;
  }
  for (int i = 0; i < REQUESTS; i++) { // with the clock's own time, some 20 ns
    double start = now_ns();
    ask(a->context, texts[i % FIRST]);
    a->singles[i] = now_ns() - start;
  }
  return NULL;
}

static void time_requests(gathertune_context *context, int count) {
  pthread_t threads[THREADS];
  asker askers[THREADS];
  _Atomic int ready = count;
  double *batches = gt_alloc((size_t)count * REQUESTS / BATCH * sizeof *batches),
         *singles = gt_alloc((size_t)count * REQUESTS * sizeof *singles);
  for (int i = 0; i < count; i++) {
    askers[i] =
        (asker){context, &ready, batches + (size_t)i * (REQUESTS / BATCH), singles + (size_t)i * REQUESTS};
    pthread_create(&threads[i], NULL, ask_often, &askers[i]);
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  char what[100];
  snprintf(what, sizeof what, "request made before, %d thread%s, median of batches of %d", count,
           count > 1 ? "s" : "", BATCH);
  report(what, quantile(batches, (size_t)count * REQUESTS / BATCH, 0.5), "ns", "target: 150 at most");
  snprintf(what, sizeof what, "  slowest hundredth of single requests begins at");
  report(what, quantile(singles, (size_t)count * REQUESTS, 0.99), "ns", "target: 1000 at most");
  free(batches);
  free(singles);
}

// First requests of tuned problems, less what the back end needs to load the code: it is loaded once by the
// first.
static void time_first_requests(gathertune_context *context) {
  double times[FIRST];
  for (int i = 0; i < FIRST; i++) {
    char text[256];
    problem_text(i, text);
    double start = now_ns();
    ask(context, text);
    times[i] = (now_ns() - start) / 1e6;
  }
  report("first request of a context, with the driver's loading", times[0], "ms", "no target");
  report("first request of a tuned problem, code loaded, median", quantile(times, FIRST, 0.5), "ms",
         "target: 1 at most");
}

// Where the context may compile, what is found is rendered first, to see whether it is stale.
static void time_first_requests_that_may_compile(const gathertune_options *given) {
  double times[FIRST];
  gathertune_options options = *given;
  options.mode = GATHERTUNE_MODE_COMPILE;
  gathertune_context *context = open_context(&options);
  for (int i = 0; i < FIRST; i++) {
    char text[256];
    gathertune_plan_info info = {.size = sizeof info};
    problem_text(i, text);
    double start = now_ns();
    const gathertune_plan *plan = ask(context, text);
    times[i] = (now_ns() - start) / 1e6;
    gathertune_describe(plan, &info);
    if (info.stale) give_up(info.note);
  }
  report("the same where the context may compile: the very first", times[0], "ms", "no target");
  report("  the others, median", quantile(times + 1, FIRST - 1, 0.5), "ms", "no target");
  gathertune_close(context);
}

// --- executing
// ----------------------------------------------------------------------------------------------

// The kernel of problem 0, to be launched without the library.
typedef struct {
  gt_problem problem;
  gt_winner winner;
  gt_module *module;
  gt_kernel *kernel;
  uint32_t grid[3];
} loaded;

static loaded load(const gt_open_device *open, const char *cache_path) {
  gt_error error = {0};
  gt_cache *cache;
  loaded l;
  char text[256];
  problem_text(0, text);
  if (gt_cache_open(cache_path, GT_CACHE_READ, &cache, &error) || gt_problem_parse(text, &l.problem, &error) ||
      gt_cache_get_winner(cache, &open->fingerprint, &l.problem, true, &l.winner, &error) ||
      gt_launch_grid(&l.winner.variant.launches[0], gt_problem_outer(&l.problem), l.grid, &error) ||
      open->backend->load(open->device, l.winner.code, l.winner.code_size, &l.module, &error) ||
      open->backend->kernel(open->device, l.module, l.winner.variant.launches[0].kernel, &l.kernel, &error))
    give_up(error.text);
  gt_cache_close(cache);
  return l;
}

static void unload(const gt_open_device *open, loaded *l) {
  open->backend->unload(open->device, l->module);
  gt_winner_free(&l->winner);
}

// Executes on `stream`, and launches the same kernel by the driver's own calls.
static void time_execution_by_driver(const gt_open_device *open, gathertune_context *context, const char *cache_path,
                                     void *stream, bool (*launch)(gt_device *, const gt_bare_launch *)) {
  gt_error error = {0};
  loaded l = load(open, cache_path);
  gt_bare_launch bare_launch = {.kernel = l.kernel, .outer = gt_problem_outer(&l.problem)};
  memcpy(bare_launch.grid, l.grid, sizeof l.grid);
  memcpy(bare_launch.block, l.winner.variant.launches[0].block, sizeof bare_launch.block);
  if (open->backend->allocate(open->device, 1 << 22, &bare_launch.grad_output, &error) ||
      open->backend->allocate(open->device, 1 << 22, &bare_launch.grad_input, &error))
    give_up(error.text);
  char text[256];
  problem_text(0, text);
  const gathertune_plan *plan = ask(context, text);
  const gathertune_buffers buffers = {.grad_output = (void *)(uintptr_t)bare_launch.grad_output,
                                      .grad_input = (void *)(uintptr_t)bare_launch.grad_input};
  double *bare = gt_alloc(LAUNCHES * sizeof *bare), *ours = gt_alloc(LAUNCHES * sizeof *ours);
  for (int i = 0; i < 2 * LAUNCHES; i++) { // in turn, each with an idle queue before it
    double start = now_ns();
    if (i % 2) {
      if (!launch(open->device, &bare_launch)) give_up("the driver refuses the launch");
      bare[i / 2] = now_ns() - start;
    } else {
      if (gathertune_execute(plan, stream, &buffers)) give_up(gathertune_message(context));
      ours[i / 2] = now_ns() - start;
    }
    open->backend->synchronize(open->device, NULL);
  }
  double b = quantile(bare, LAUNCHES, 0.5), o = quantile(ours, LAUNCHES, 0.5);
  report("bare launch by the driver, median", b / 1000, "µs", open->backend->name);
  report("gathertune_execute, median", o / 1000, "µs", "the same kernel");
  report("  ratio", o / b, "", "target: 1.1 at most");
  free(bare);
  free(ours);
  open->backend->release(open->device, bare_launch.grad_output);
  open->backend->release(open->device, bare_launch.grad_input);
  unload(open, &l);
}

// On a device whose launches are next to nothing: what the library adds to the back end's launch.
static void time_execution(const gt_open_device *open, gathertune_context *context, const char *cache_path) {
  static _Alignas(256) char memory[512];
  loaded l = load(open, cache_path);
  char text[256];
  problem_text(0, text);
  const gathertune_plan *plan = ask(context, text);
  const gathertune_buffers buffers = {.grad_output = memory, .grad_input = memory + 256};
  const gt_arguments arguments = {.pointers = {(uintptr_t)memory, (uintptr_t)memory + 256},
                                  .n_pointers = 3,
                                  .integers = {gt_problem_outer(&l.problem)},
                                  .n_integers = 1};
  double *bare = gt_alloc(LAUNCHES * sizeof *bare), *ours = gt_alloc(LAUNCHES * sizeof *ours);
  for (int i = 0; i < LAUNCHES; i++) { // in turn
    double start = now_ns();
    for (int k = 0; k < BATCH; k++)
      if (open->backend->launch_on(open->device, NULL, l.kernel, l.grid, l.winner.variant.launches[0].block,
                                   &arguments, NULL))
        give_up("the scripted device does not launch");
    double middle = now_ns();
    for (int k = 0; k < BATCH; k++)
      if (gathertune_execute(plan, NULL, &buffers)) give_up(gathertune_message(context));
    bare[i] = (middle - start) / BATCH;
    ours[i] = (now_ns() - middle) / BATCH;
  }
  double b = quantile(bare, LAUNCHES, 0.5), o = quantile(ours, LAUNCHES, 0.5);
  report("the scripted device's launch, median", b, "ns", "a driver's takes some 2000");
  report("gathertune_execute with it, median", o, "ns", "the same kernel");
  report("  what the library adds", o - b, "ns", "target: 20 at most");
  free(bare);
  free(ours);
  unload(open, &l);
}

int main(int argc, char **argv) {
  const char *device = argc > 1 ? argv[1] : "recorded";
  char folder[] = "/dev/shm/gathertune-XXXXXX", fallback[] = "/tmp/gathertune-XXXXXX", self[4096] = "";
  char *place = mkdtemp(folder) ? folder : mkdtemp(fallback);
  gt_error error = {0};
  if (!place || readlink("/proc/self/exe", self, sizeof self - 12) < 0) give_up("no folder to work in");
  for (int i = 0; i < 2; i++) *strrchr(self, '/') = 0;
  strcat(self, "/gathertune");
  if (chdir(place)) give_up(place);
  FILE *script = fopen("gpu.json", "w");
  fputs("{\"fingerprint\": {\"arch\": \"gfx942\", \"target\": \"hip\"}}", script);
  fclose(script);
  if (strcmp(device, "recorded") == 0) device = "recorded:gpu.json";
  gt_open_device open;
  if (gt_device_open(device, &open, &error)) give_up(error.text);
  make_cache("cache.db", &open, self, device);

  gathertune_options options = GATHERTUNE_OPTIONS_INIT;
  const char *caches[] = {"cache.db"};
  options.device = device;
  options.caches = caches;
  options.n_caches = 1;
  void *stream = NULL;
  bool (*launch)(gt_device *, const gt_bare_launch *) = NULL;
#ifdef GT_HAVE_OPENCL
  if (strcmp(open.backend->name, "opencl") == 0) {
    launch = gt_bare_launch_opencl;
    options.device = NULL;
    options.queue = stream = gt_bare_stream_opencl(open.device);
  }
#endif
#ifdef GT_HAVE_CUDA
  if (strcmp(open.backend->name, "cuda") == 0) {
    launch = gt_bare_launch_cuda;
    stream = gt_bare_stream_cuda(open.device);
  }
#endif
  gathertune_close(open_context(&options)); // what is done once per process
  double before = resident_mb(), start = now_ns();
  gathertune_context *context = open_context(&options);
  report("opening a cache of 10,000 tuned problems", (now_ns() - start) / 1e6, "ms", "target: 10 at most");
  report("  memory that it takes", resident_mb() - before, "MB", "target: 20 at most");
  time_first_requests(context);
  time_first_requests_that_may_compile(&options);
  time_requests(context, 1);
  time_requests(context, THREADS);
  if (launch)
    time_execution_by_driver(&open, context, "cache.db", stream, launch);
  else
    time_execution(&open, context, "cache.db");
  gathertune_close(context);
  gt_device_close(&open);
  char *command = gt_print("rm -rf '%s'", place);
  int failed = system(command);
  free(command);
  return failed != 0;
}
