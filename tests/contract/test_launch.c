// Launches and times.
#include "tests/contract/contract.h"

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

// Three replays of a graph of two launches, with plain launches between.
static void test_graph(void **state) {
  EXECUTING_DEVICE(state);
  if (!backend->capture) {
    print_message("it has no graphs\n");
    skip();
  }
  int values[256];
  uint32_t expected[256];
  const uint32_t grid[3] = {1, 1, 1}, block[3] = {256, 1, 1};
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  gt_graph *graph;
  gt_address data = allocate(backend, device, sizeof values);
  for (int i = 0; i < 256; i++) expected[i] = (uint32_t)(values[i] = i);
  SUCCEED(backend->write(device, data, values, sizeof values, &fault));
  SUCCEED(backend->kernel(device, module, "affine", &kernel, &fault));

  gt_arguments arguments = {.pointers = {data}, .n_pointers = 1, .integers = {1, 0}, .n_integers = 2};
  for (int i = 0; i < 2; i++) // loads the kernel; twice is as before
    SUCCEED(backend->launch(device, kernel, grid, block, &arguments, &fault));
  gt_status status = backend->capture(device, &fault);
  if (status == GT_UNSUPPORTED) {
    print_message("%s\n", fault.text);
    skip();
  }
  SUCCEED(status);
  for (int launch = 0; launch < 2; launch++) {
    arguments.integers[0] = 3, arguments.integers[1] = launch + 1;
    SUCCEED(backend->launch(device, kernel, grid, block, &arguments, &fault));
  }
  SUCCEED(backend->captured(device, &graph, &fault));
  memset(arguments.integers, 0, sizeof arguments.integers); // a graph has arguments of its own
  SUCCEED(backend->synchronize(device, &fault));
  SUCCEED(backend->read(device, values, data, sizeof values, &fault));
  for (int i = 0; i < 256; i++) assert_int_equal(values[i], i); // nothing was launched yet

  double us;
  arguments.integers[0] = 5, arguments.integers[1] = 7;
  SUCCEED(backend->mark(device, 0, &fault));
  for (int i = 0; i < 3; i++) {
    SUCCEED(backend->launch(device, kernel, grid, block, &arguments, &fault));
    SUCCEED(backend->replay(device, graph, &fault));
  }
  SUCCEED(backend->mark(device, 1, &fault));
  SUCCEED(backend->elapsed(device, 0, 1, &us, &fault));
  assert_true(us > 0 && us < 60e6);
  SUCCEED(backend->read(device, values, data, sizeof values, &fault));
  for (int launch = 0; launch < 9; launch++) {
    const uint32_t factors[3] = {5, 3, 3}, summands[3] = {7, 1, 2};
    uint32_t factor = factors[launch % 3], summand = summands[launch % 3];
    for (int i = 0; i < 256; i += 2) {
      uint32_t even = expected[i];
      expected[i] = factor * expected[i + 1] + summand;
      expected[i + 1] = factor * even + summand;
    }
  }
  assert_memory_equal(values, expected, sizeof values);
  backend->drop(device, graph);
  backend->release(device, data);
  backend->unload(device, module);
}

// Of a device that counts 128-byte lines, since the only one is an MI300X.
static void test_traffic(void **state) {
  EXECUTING_DEVICE(state);
  enum { ELEMENTS = 1000, LINES = (4 * ELEMENTS + 127) / 128 };
  gt_traffic traffic;
  gt_status status = backend->traffic ? backend->traffic(device, &traffic, &fault) : GT_UNSUPPORTED;
  if (status == GT_UNSUPPORTED) {
    print_message("it does not count traffic\n");
    skip();
  }
  SUCCEED(status);
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  gt_address in = allocate(backend, device, 4 * ELEMENTS), out = allocate(backend, device, 4 * ELEMENTS);
  gt_arguments arguments = {
      .pointers = {out, in}, .n_pointers = 2, .integers = {ELEMENTS, -3}, .n_integers = 2};
  SUCCEED(backend->fill(device, in, 0, 4 * ELEMENTS, &fault));
  SUCCEED(backend->kernel(device, module, "number", &kernel, &fault));
  SUCCEED(backend->synchronize(device, &fault));
  SUCCEED(backend->traffic(device, &traffic, &fault)); // the fill's
  for (int launches = 1; launches <= 2; launches++) {
    for (int i = 0; i < launches; i++)
      SUCCEED(backend->launch(device, kernel, (uint32_t[]){16, 1, 1}, (uint32_t[]){64, 1, 1}, &arguments,
                              &fault));
    SUCCEED(backend->synchronize(device, &fault));
    SUCCEED(backend->traffic(device, &traffic, &fault));
    const gt_moved *moved[] = {&traffic.read, &traffic.written};
    for (int i = 0; i < 2; i++) {
      assert_int_equal(moved[i]->lanes, launches * 4 * ELEMENTS);
      assert_int_equal(moved[i]->waves, launches * LINES * 128);
      assert_int_equal(moved[i]->blocks, launches * LINES * 128);
      assert_int_equal(moved[i]->dies, launches * LINES * 128);
    }
  }
  SUCCEED(backend->traffic(device, &traffic, &fault)); // nothing has run since
  assert_int_equal(traffic.read.lanes + traffic.written.lanes, 0);
  backend->release(device, in);
  backend->release(device, out);
  backend->unload(device, module);
}

// What a batch that cannot be captured falls back to.
static void test_failed_capture(void **state) {
  EXECUTING_DEVICE(state);
  gt_fingerprint fingerprint;
  gt_graph *graph = NULL;
  if (!backend->capture || backend->capture(device, &fault) == GT_UNSUPPORTED) {
    print_message("it has no graphs\n");
    skip();
  }
  // Ends the capture that this began. Of no launches at all: a back end may refuse that or not.
  if (backend->captured(device, &graph, &fault) == GT_OK) backend->drop(device, graph);

  SUCCEED(backend->fingerprint(device, &fingerprint, &fault));
  gt_module *module = load(backend, device);
  gt_kernel *kernel;
  gt_address data = allocate(backend, device, 4096);
  SUCCEED(backend->kernel(device, module, "number", &kernel, &fault));
  gt_arguments arguments = {.pointers = {data, data}, .n_pointers = 2, .integers = {1, 1}, .n_integers = 2};
  const uint32_t grid[3] = {1, 1, 1}, block[3] = {(uint32_t)fingerprint.max_threads_per_block, 2, 1};
  SUCCEED(backend->capture(device, &fault));
  gt_status launched = backend->launch(device, kernel, grid, block, &arguments, &fault);
  gt_status ended = backend->captured(device, &graph, &fault);
  assert_true(launched == GT_OK || launched == GT_LAUNCH);
  // Each back end notices it where it likes, but not later than here.
  if (launched == GT_OK && ended == GT_OK) REFUSE(backend->replay(device, graph, &fault), GT_LAUNCH);
  if (ended == GT_OK) backend->drop(device, graph);
  backend->release(device, data);
  backend->unload(device, module);
  number(backend, device, 1000, (uint32_t[]){16, 1, 1}, (uint32_t[]){64, 1, 1});
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

int main(void) {
  static const property properties[] = {
      {"a kernel compiles, loads and computes", test_launch, false},
      {"a grid of two dimensions reaches every element", test_grid, false},
      {"launches run in order", test_order, false},
      {"a captured graph of launches computes what the launches would", test_graph, false},
      {"the traffic of launches is counted exactly, or not at all", test_traffic, false},
      {"after a capture that fails, launches are as before", test_failed_capture, false},
      {"a block of too many threads is refused and harms nothing", test_too_many_threads, false},
      {"marks follow each other in time", test_marks, false},
      {"an idle device synchronizes", test_synchronize, false},
      {"a second handle closes without harm to the first", test_close_in_use, false},
  };
  return contract_main(properties, sizeof properties / sizeof properties[0]);
}
