// Batches of launches, on a back end that writes down what it is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "tuner/bench.h"

enum { MOST = 70000, STRIDE = 256 };

struct gt_graph {
  int slots[MOST], length;
};

// One device's worth: an execution is a slot whose launch was done.
static struct {
  int executed[4 * MOST], n_executed, n_timed, marks;
  int captures, plain, alive; // graphs
  gt_graph *capturing;
  double us; // of a launch
  gt_status capture_status, captured_status, replay_status;
} fake;

static void execute(int slot) {
  assert_true(fake.n_executed < 4 * MOST);
  fake.executed[fake.n_executed++] = slot;
  if (fake.marks % 2) fake.n_timed++;
}

static gt_status launch(gt_device *device, gt_kernel *kernel, const uint32_t grid[3], const uint32_t block[3],
                        const gt_arguments *arguments, gt_error *error) {
  (void)device, (void)kernel, (void)grid, (void)block, (void)error;
  int slot = (int)((arguments->pointers[0] - STRIDE - GT_GUARD_BYTES) / STRIDE);
  if (fake.capturing) {
    fake.capturing->slots[fake.capturing->length++] = slot;
  } else {
    fake.plain++;
    execute(slot);
  }
  return GT_OK;
}

static gt_status synchronize(gt_device *device, gt_error *error) {
  (void)device, (void)error;
  assert_null(fake.capturing);
  return GT_OK;
}

static gt_status mark(gt_device *device, int slot, gt_error *error) {
  (void)device, (void)error;
  assert_null(fake.capturing);
  if (slot == 0) fake.n_timed = 0;
  fake.marks = slot == 0 ? 1 : 2;
  return GT_OK;
}

static gt_status elapsed(gt_device *device, int from, int to, double *us, gt_error *error) {
  (void)device, (void)from, (void)to, (void)error;
  *us = fake.us * fake.n_timed;
  return GT_OK;
}

static gt_status capture(gt_device *device, gt_error *error) {
  (void)device;
  assert_null(fake.capturing);
  assert_int_equal(fake.marks % 2, 0); // not while time is taken
  if (fake.capture_status) return gt_fail(error, fake.capture_status, "no capture");
  fake.capturing = gt_alloc(sizeof *fake.capturing);
  fake.captures++;
  return GT_OK;
}

static gt_status captured(gt_device *device, gt_graph **graph, gt_error *error) {
  (void)device;
  assert_non_null(fake.capturing);
  *graph = fake.capturing;
  fake.capturing = NULL;
  if (fake.captured_status) {
    free(*graph);
    *graph = NULL;
    return gt_fail(error, fake.captured_status, "no graph");
  }
  fake.alive++;
  return GT_OK;
}

static gt_status replay(gt_device *device, gt_graph *graph, gt_error *error) {
  (void)device;
  if (fake.replay_status) return gt_fail(error, fake.replay_status, "no replay");
  for (int i = 0; i < graph->length; i++) execute(graph->slots[i]);
  return GT_OK;
}

static void drop(gt_device *device, gt_graph *graph) {
  (void)device;
  fake.alive--;
  free(graph);
}

static void release(gt_device *device, gt_address address) {
  (void)device, (void)address;
}

static const gt_backend with_graphs = {.executes = true,
                                       .release = release,
                                       .launch = launch,
                                       .synchronize = synchronize,
                                       .mark = mark,
                                       .elapsed = elapsed,
                                       .capture = capture,
                                       .captured = captured,
                                       .replay = replay,
                                       .drop = drop};

typedef struct {
  gt_open_device open;
  gt_bench bench;
} fixture;

static void start(fixture *f, int slots, double us) {
  memset(&fake, 0, sizeof fake);
  fake.us = us;
  *f = (fixture){.open = {.backend = &with_graphs}};
  f->bench = (gt_bench){.open = &f->open, .outer = 1, .slots = slots, .n_tensors = 2, .n_inputs = 1};
  for (int i = 0; i < 2; i++)
    f->bench.buffers[i] = (gt_guarded){.base = STRIDE, .bytes = STRIDE, .stride = STRIDE, .slots = slots};
}

static gt_loaded loaded_on(fixture *f) {
  return (gt_loaded){.bench = &f->bench, .n_launches = 1, .grid = {{1, 1, 1}}, .block = {{1, 1, 1}}};
}

static double batch(gt_loaded *loaded, int count) {
  double us;
  gt_error error = {0};
  if (gt_loaded_batch(loaded, count, &us, &error) != GT_OK) fail_msg("%s", error.text);
  return us;
}

static void test_short(void **state) {
  (void)state;
  fixture f;
  start(&f, 10, 2);
  gt_loaded loaded = loaded_on(&f);
  assert_true(batch(&loaded, 1) == 2);
  assert_true(batch(&loaded, 64) == 128); // of 250 sequences: whole rounds
  assert_int_equal(fake.n_timed, 250);
  assert_int_equal(fake.n_executed, 1 + 2 * 250); // the first replay is not timed
  assert_true(batch(&loaded, 64) == 128);
  assert_true(batch(&loaded, 512) == 1024);
  assert_int_equal(fake.n_timed, 750);
  assert_int_equal(fake.captures, 1); // once for all counts
  assert_int_equal(fake.plain, 1);
  for (int i = 1; i < fake.n_executed; i++) assert_int_equal(fake.executed[i], (i - 1) % 10);
  gt_loaded_close(&loaded);
  assert_int_equal(fake.alive, 0);
}

static void test_long(void **state) {
  (void)state;
  fixture f;
  start(&f, 10, 30);
  gt_loaded loaded = loaded_on(&f);
  for (int count = 1; count <= 64; count *= 2) assert_true(batch(&loaded, count) == 30.0 * count);
  fake.us = 3; // in the midst of a series
  assert_true(batch(&loaded, 64) == 3 * 64);
  assert_int_equal(fake.captures, 0);
  for (int i = 0; i < fake.n_executed; i++) assert_int_equal(fake.executed[i], i % 10);
  gt_loaded_close(&loaded);
}

// Between two uses of a slot at least half of the others have their turn, whoever launches.
static void test_cold(void **state) {
  (void)state;
  static const int slots[] = {1, 2, 100, 129, 256, 257, 300, 1000, 5000};
  for (size_t s = 0; s < sizeof slots / sizeof slots[0]; s++) {
    fixture f;
    int last[5000], early = 0;
    start(&f, slots[s], 2);
    gt_loaded one = loaded_on(&f), other = loaded_on(&f);
    for (int count = 1; count <= 512; count *= 2) batch(&one, count), batch(&other, count);
    for (int i = 0; i < 10; i++) batch(&one, 512), batch(&other, 512);
    for (int i = 0; i < slots[s]; i++) last[i] = -slots[s];
    for (int i = 0; i < fake.n_executed; i++) {
      int slot = fake.executed[i];
      early += i - last[slot] < (slots[s] + 1) / 2;
      last[slot] = i;
    }
    // Where a single graph follows plain launches it starts anew, once for each.
    assert_true(early <= (slots[s] <= 256 ? slots[s] : 0));
    gt_loaded_close(&one);
    gt_loaded_close(&other);
    assert_int_equal(fake.alive, 0);
  }
}

static void test_warm(void **state) {
  (void)state;
  fixture f;
  start(&f, 1000, 2);
  gt_loaded loaded = loaded_on(&f);
  loaded.warm = true;
  batch(&loaded, 1);
  assert_true(batch(&loaded, 16) == 32);
  assert_int_equal(fake.captures, 1);
  for (int i = 0; i < fake.n_executed; i++) assert_int_equal(fake.executed[i], 0);
  gt_loaded_close(&loaded);
}

static void check_fallback(gt_status *failing) {
  fixture f;
  start(&f, 10, 2);
  gt_loaded loaded = loaded_on(&f);
  batch(&loaded, 1);
  *failing = GT_OUT_OF_MEMORY;
  assert_true(batch(&loaded, 64) == 128);
  assert_int_equal(fake.plain, 65);
  assert_int_equal(fake.alive, 0);
  *failing = GT_OK;
  int captures = fake.captures;
  batch(&loaded, 128);
  assert_int_equal(fake.captures, captures); // nor is it tried again
  gt_loaded_close(&loaded);
}

static void test_fallback(void **state) {
  (void)state;
  check_fallback(&fake.capture_status);
  check_fallback(&fake.captured_status);
  check_fallback(&fake.replay_status);
}

static void test_lost(void **state) {
  (void)state;
  fixture f;
  double us;
  gt_error error = {0};
  start(&f, 10, 2);
  gt_loaded loaded = loaded_on(&f);
  batch(&loaded, 1);
  batch(&loaded, 64);
  fake.replay_status = GT_LAUNCH;
  assert_int_equal(gt_loaded_batch(&loaded, 64, &us, &error), GT_LAUNCH);
  assert_string_equal(error.text, "no replay");
  gt_loaded_close(&loaded);
  assert_int_equal(fake.alive, 0);

  start(&f, 10, 2);
  loaded = loaded_on(&f);
  batch(&loaded, 1);
  fake.captured_status = GT_DEVICE_LOST;
  assert_int_equal(gt_loaded_batch(&loaded, 64, &us, &error), GT_DEVICE_LOST);
  assert_string_equal(error.text, "no graph");
  gt_loaded_close(&loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"short launches are replayed, the first time untimed", test_short, NULL, NULL, NULL},
      {"long launches are launched, and a series in one way", test_long, NULL, NULL, NULL},
      {"replays leave the caches cold", test_cold, NULL, NULL, NULL},
      {"replays of a warm benchmark stay on one slot", test_warm, NULL, NULL, NULL},
      {"graphs that fail give way to launches", test_fallback, NULL, NULL, NULL},
      {"errors of replays and of lost devices are told", test_lost, NULL, NULL, NULL},
  };
  return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
