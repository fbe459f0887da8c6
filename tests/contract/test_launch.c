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
      {"a block of too many threads is refused and harms nothing", test_too_many_threads, false},
      {"marks follow each other in time", test_marks, false},
      {"an idle device synchronizes", test_synchronize, false},
      {"a second handle closes without harm to the first", test_close_in_use, false},
  };
  return contract_main(properties, sizeof properties / sizeof properties[0]);
}
