// Tests of how traffic with global memory is counted.
#include "test_interpreter_program.h"

static const char kernels[] =
    "#define KERNEL extern \"C\" __global__ __launch_bounds__(256) void\n"
    "#define ITEM (blockIdx.x * blockDim.x + threadIdx.x)\n"
    "KERNEL copy(const int *x, int *r) { r[ITEM] = x[ITEM]; }\n"
    "KERNEL copy_wide(const int4 *x, int4 *r) { r[ITEM] = x[ITEM]; }\n"
    "KERNEL copy_bytes(const char *x, char *r) { r[ITEM] = x[ITEM]; }\n"
    "KERNEL copy_some(const int *x, int *r) { if (threadIdx.x % 4 == 0) r[ITEM] = x[ITEM]; }\n"
    "KERNEL gather(const int *x, int *r, unsigned long long step) { r[ITEM] = x[ITEM * (unsigned)step]; }\n"
    "KERNEL same(const int *x, int *r) { r[ITEM] = x[threadIdx.x]; }\n"
    "KERNEL twice(const volatile int *x, int *r) { r[ITEM] = x[ITEM] + x[ITEM]; }\n"
    "KERNEL neighbours(const int *x, int *r) { r[ITEM] = x[ITEM] + x[ITEM + 32]; }\n"
    "KERNEL in_place(int *x) { x[ITEM] += 1; }\n"
    "KERNEL add(int *r) { atomicAdd(&r[threadIdx.x], 1); }\n"
    "KERNEL scalar(const int *x, int *r) {\n"
    "  int4 y;\n"
    "  asm volatile(\"s_load_dwordx4 %0, %1, 0x70\\ns_waitcnt lgkmcnt(0)\" : \"=s\"(y) : \"s\"(x));\n"
    "  r[ITEM] = y.x + y.y + y.z + y.w;\n"
    "}\n";

enum { GROUPS = 24, ITEMS = GROUPS * N, WAVES = N / 64, LINE = 128 };
static const Shape many = {.groups = GROUPS, .items = N, .dies = 8};
static const Shape wave = {.groups = 1, .items = 64};

static void assert_traffic(const gfx_traffic *traffic, uint64_t bytes, uint64_t access_lines,
                           uint64_t group_lines, uint64_t die_lines) {
  assert_int_equal(traffic->bytes, bytes);
  assert_int_equal(traffic->access_lines, access_lines);
  assert_int_equal(traffic->group_lines, group_lines);
  assert_int_equal(traffic->die_lines, die_lines);
}

static void a_copy_moves_each_line_once(void **state) {
  (void)state;
  char *x = buffer(16 * ITEMS), *r = buffer(16 * ITEMS);
  static const struct {
    const char *kernel;
    int bytes;
  } cases[] = {{"copy", 4}, {"copy_wide", 16}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t bytes = (uint64_t)ITEMS * (uint64_t)cases[i].bytes, lines = bytes / LINE;
    RUN(cases[i].kernel, many, ARGUMENT(x), ARGUMENT(r));
    assert_traffic(&counts.read, bytes, lines, lines, lines);
    assert_traffic(&counts.written, bytes, lines, lines, lines);
  }
}

static void waves_that_share_a_line_count_it_each_and_their_workgroup_once(void **state) {
  (void)state;
  char *x = buffer(ITEMS), *r = buffer(ITEMS);
  RUN("copy_bytes", many, ARGUMENT(x), ARGUMENT(r));
  assert_traffic(&counts.read, ITEMS, GROUPS * WAVES, GROUPS * N / LINE, GROUPS * N / LINE);
  assert_traffic(&counts.written, ITEMS, GROUPS * WAVES, GROUPS * N / LINE, GROUPS * N / LINE);
}

static void a_strided_access_touches_as_many_lines_as_it_spans(void **state) {
  (void)state;
  int *x = buffer(4 * 64 * 64), *r = buffer(4 * 64);
  static const struct {
    unsigned step, lines;
  } cases[] = {{0, 1}, {1, 2}, {2, 4}, {16, 32}, {32, 64}, {64, 64}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    RUN("gather", wave, ARGUMENT(x), ARGUMENT(r), cases[i].step);
    assert_traffic(&counts.read, 64 * 4, cases[i].lines, cases[i].lines, cases[i].lines);
    assert_traffic(&counts.written, 64 * 4, 2, 2, 2);
  }
}

static void an_access_that_starts_within_a_line_touches_one_more(void **state) {
  (void)state;
  int *x = buffer(4 * 128), *r = buffer(4 * 64);
  RUN("gather", wave, ARGUMENT(x + 1), ARGUMENT(r), 1);
  assert_traffic(&counts.read, 64 * 4, 3, 3, 3);
}

static void lanes_that_are_off_do_not_count(void **state) {
  (void)state;
  int *x = buffer(4 * 64), *r = buffer(4 * 64);
  RUN("copy_some", wave, ARGUMENT(x), ARGUMENT(r));
  assert_traffic(&counts.read, 16 * 4, 2, 2, 2);
  assert_traffic(&counts.written, 16 * 4, 2, 2, 2);
  // Half of a wave does not exist.
  RUN("copy", ((Shape){.groups = 1, .items = 32}), ARGUMENT(x), ARGUMENT(r));
  assert_traffic(&counts.read, 32 * 4, 1, 1, 1);
}

static void what_is_read_again_counts_again_until_a_cache_has_it(void **state) {
  (void)state;
  int *x = buffer(4 * (ITEMS + 32)), *r = buffer(4 * ITEMS);
  enum { LINES = 4 * ITEMS / LINE };
  RUN("twice", many, ARGUMENT(x), ARGUMENT(r));
  assert_traffic(&counts.read, 2 * 4 * ITEMS, 2 * LINES, LINES, LINES);
  // Each workgroup reads the first line of the next one's too, which is on the next die.
  RUN("neighbours", many, ARGUMENT(x), ARGUMENT(r));
  assert_traffic(&counts.read, 2 * 4 * ITEMS, 2 * LINES, LINES + GROUPS, LINES + GROUPS);
  // On one die, those are the same lines, but for the last.
  RUN("neighbours", ((Shape){.groups = GROUPS, .items = N}), ARGUMENT(x), ARGUMENT(r));
  assert_traffic(&counts.read, 2 * 4 * ITEMS, 2 * LINES, LINES + GROUPS, LINES + 1);
}

static void each_die_fetches_what_its_workgroups_share(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * ITEMS);
  enum { LINES = 4 * N / LINE };
  static const int dies[] = {0, 1, 2, 8, 24, 64};
  for (size_t i = 0; i < sizeof dies / sizeof *dies; i++) {
    int used = dies[i] < 1 ? 1 : dies[i] > GROUPS ? GROUPS : dies[i];
    RUN("same", ((Shape){.groups = GROUPS, .items = N, .dies = dies[i]}), ARGUMENT(x), ARGUMENT(r));
    assert_traffic(&counts.read, 4 * ITEMS, GROUPS * LINES, GROUPS * LINES, (uint64_t)used * LINES);
  }
}

static void a_line_that_is_read_and_written_counts_in_both_directions(void **state) {
  (void)state;
  int *x = buffer(4 * ITEMS);
  enum { LINES = 4 * ITEMS / LINE };
  RUN("in_place", many, ARGUMENT(x));
  assert_traffic(&counts.read, 4 * ITEMS, LINES, LINES, LINES);
  assert_traffic(&counts.written, 4 * ITEMS, LINES, LINES, LINES);
}

static void atomics_are_written(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  enum { LINES = 4 * N / LINE };
  RUN("add", many, ARGUMENT(r));
  assert_int_equal(r[N - 1], GROUPS);
  assert_traffic(&counts.read, 0, 0, 0, 0);
  assert_traffic(&counts.written, 4 * ITEMS, GROUPS * LINES, GROUPS * LINES, 8 * LINES);
}

static void scalar_loads_are_read_once_a_wave_and_arguments_are_not_traffic(void **state) {
  (void)state;
  int *x = buffer(2 * LINE), *r = buffer(4 * N);
  RUN("scalar", one_group, ARGUMENT(x), ARGUMENT(r)); // bytes 112 to 127
  assert_traffic(&counts.read, WAVES * 16, WAVES, 1, 1);
  RUN("scalar", one_group, ARGUMENT(x + 1), ARGUMENT(r)); // over the end of a line
  assert_traffic(&counts.read, WAVES * 16, 2 * WAVES, 2, 2);
  assert_int_equal(counts.memory_transactions, WAVES * 2); // the stores
}

static int load_kernels(void **state) {
  (void)state;
  program_replace(kernels);
  return 0;
}

int test_traffic(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_copy_moves_each_line_once, free_buffers),
      cmocka_unit_test_teardown(waves_that_share_a_line_count_it_each_and_their_workgroup_once, free_buffers),
      cmocka_unit_test_teardown(a_strided_access_touches_as_many_lines_as_it_spans, free_buffers),
      cmocka_unit_test_teardown(an_access_that_starts_within_a_line_touches_one_more, free_buffers),
      cmocka_unit_test_teardown(lanes_that_are_off_do_not_count, free_buffers),
      cmocka_unit_test_teardown(what_is_read_again_counts_again_until_a_cache_has_it, free_buffers),
      cmocka_unit_test_teardown(each_die_fetches_what_its_workgroups_share, free_buffers),
      cmocka_unit_test_teardown(a_line_that_is_read_and_written_counts_in_both_directions, free_buffers),
      cmocka_unit_test_teardown(atomics_are_written, free_buffers),
      cmocka_unit_test_teardown(scalar_loads_are_read_once_a_wave_and_arguments_are_not_traffic,
                                free_buffers),
  };
  return cmocka_run_group_tests(tests, load_kernels, NULL);
}
