// Tests of the gfx942 interpreter: kernels are compiled by hiprtc, put in this process's memory by a small
// loader, run by the interpreter, and compared with the same computation on the host.
//
// Build: gcc -std=c11 -D_GNU_SOURCE -O2 -ffp-contract=off test_interpreter*.c and the interpreter's files
// (atomic.c code_cache.c decode.c disassemble.c interpreter.c lds.c memory.c scalar.c vector*.c wave.c), with
// -ldl -lm -lpthread -lcmocka. Run: where libamdhip64.so.5 (which has hiprtc in it) and libamd_comgr.so.2 of
// ROCm 5.7 are found; with Debian 13's packages unpacked in a folder that is ld-linux-x86-64.so.2
// --library-path FOLDER test_interpreter. Without these libraries it says so and exits with status 77. With
// -s it runs a long kernel and prints the rate at which it is interpreted, instead of the tests.
#include "test_interpreter_program.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "test_interpreter_kernels.h"

static void assert_contains(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' is not in '%s'", part, text);
}

static void a_reduction_in_lds_needs_its_barriers_and_gets_them(void **state) {
  (void)state;
  enum { GROUPS = 9 };
  int *x = buffer(4 * N * GROUPS), *sum = buffer(4 * GROUPS), expected;
  for (int i = 0; i < N * GROUPS; i++) x[i] = (int)(random_bits() >> 16);
  RUN("reduce", ((Shape){.groups = GROUPS, .items = N}), ARGUMENT(x), ARGUMENT(sum));
  for (int group = 0; group < GROUPS; group++) {
    expected = 0;
    for (int i = 0; i < N; i++) expected += x[group * N + i];
    assert_int_equal(sum[group], expected);
  }
  // Nine barriers for each of the four waves of a workgroup.
  assert_int_equal(counts.barriers, 9 * 4 * GROUPS);
}

static void a_barrier_waits_for_a_wave_that_takes_long(void **state) {
  (void)state;
  enum { STEPS = 30000 };
  int *r = buffer(4 * N);
  uint32_t value = 1;
  for (int k = 0; k < STEPS; k++) value = value * 5 + 1;
  RUN("slow_wave", one_group, ARGUMENT(r), STEPS);
  for (int i = 0; i < N; i++) assert_int_equal(r[i], (int32_t)value);
}

static void waves_may_wait_for_each_other_without_a_barrier(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("handshake", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], 1 + 64 * 3);
}

static void atomics_of_all_kinds_add_up(void **state) {
  (void)state;
  enum { GROUPS = 8, ITEMS = GROUPS * N };
  uint32_t *word = buffer(4 * 16);
  uint64_t *wide = buffer(8 * 4);
  double *real = buffer(8);
  float *single = buffer(4);
  uint32_t *pairs = buffer(8);
  word[2] = UINT32_MAX;
  word[4] = UINT32_MAX;
  RUN("atomics", ((Shape){.groups = GROUPS, .items = N}), ARGUMENT(word), ARGUMENT(wide), ARGUMENT(real),
      ARGUMENT(single), ARGUMENT(pairs));
  assert_int_equal(word[0], ITEMS * (ITEMS - 1) / 2);
  assert_int_equal(word[1], ITEMS - 1);
  assert_int_equal(word[2], 0);
  assert_int_equal((int32_t)word[3], -(ITEMS - 1));
  assert_int_equal(word[4], 0);
  assert_int_equal(word[5], 0xffffffff);
  assert_int_equal(word[6], ITEMS); // through a loop of compare and swap
  assert_int_equal(word[7], ITEMS % 10);
  assert_int_equal(word[8], ITEMS); // every ticket was given once: the sum of what add returned is checked by
  assert_int_equal(wide[1], (uint64_t)ITEMS * (ITEMS - 1) / 2);
  assert_int_equal(wide[0], (uint64_t)ITEMS << 33);
  assert_true(*real == ITEMS * 0.5);
  assert_true(*single == ITEMS * 0.25f);
  assert_int_equal(pairs[0], 0x68006400); // 2048 and 1024 as halves
  assert_int_equal(pairs[1], 0x43804300); // 256 and 128 as bfloats: more would be rounded away
}

static void atomics_in_lds_return_what_was_there(void **state) {
  (void)state;
  uint32_t *r = buffer(4 * N), *total = buffer(4 * 4), seen[N] = {0};
  RUN("lds_atomics", one_group, ARGUMENT(r), ARGUMENT(total));
  for (int i = 0; i < N; i++) seen[r[i]]++;
  for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
  assert_int_equal(total[0], N);
  assert_int_equal(total[1], N - 1);
  assert_true(((float *)total)[2] == N * 0.5f);
  assert_int_equal(total[3], N);
}

static void schedules_change_the_order_of_waves_and_nothing_else(void **state) {
  (void)state;
  enum { GROUPS = 9 };
  uint32_t *in_order = buffer(4 * N), *r = buffer(4 * N), *total = buffer(4 * 4);
  int others = 0;
  RUN("lds_atomics", one_group, ARGUMENT(in_order), ARGUMENT(total));
  for (uint64_t schedule = 1; schedule < 20; schedule++) {
    uint32_t seen[N] = {0};
    memset(total, 0, 4 * 4);
    RUN("lds_atomics", ((Shape){.groups = 1, .items = N, .schedule = schedule}), ARGUMENT(r), ARGUMENT(total));
    for (int i = 0; i < N; i++) seen[r[i]]++;
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    others += memcmp(r, in_order, 4 * N) != 0;
  }
  assert_true(others > 10);

  int *x = buffer(4 * N * GROUPS), *sum = buffer(4 * GROUPS);
  for (int i = 0; i < N * GROUPS; i++) x[i] = (int)(random_bits() >> 16);
  for (uint64_t schedule = 1; schedule < 20; schedule++) {
    memset(sum, 0, 4 * GROUPS);
    RUN("reduce", ((Shape){.groups = GROUPS, .items = N, .schedule = schedule}), ARGUMENT(x), ARGUMENT(sum));
    for (int group = 0; group < GROUPS; group++) {
      int expected = 0;
      for (int i = 0; i < N; i++) expected += x[group * N + i];
      assert_int_equal(sum[group], expected);
    }
    assert_int_equal(counts.barriers, 9 * 4 * GROUPS);
  }
}

static void lanes_exchange_values(void **state) {
  (void)state;
  int *r = buffer(4 * N * 10);
  RUN("exchange", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int wave = i & ~63, lane = i & 63, value = 3 * i + 1;
    assert_int_equal(r[i], 3 * (wave + (lane + 7) % 64) + 1);
    assert_int_equal(r[N + i], 3 * (i ^ 5) + 1);
    assert_int_equal(r[2 * N + i], lane < 2 ? value : 3 * (i - 2) + 1);
    assert_int_equal(r[3 * N + i], 3 * (wave + 17) + 1);
    assert_int_equal(r[4 * N + i], __builtin_popcountll(0x9249249249249249)); // every third lane of 64
    assert_int_equal(r[5 * N + i], 3 * (i ^ 1) + 1);                          // a quad permutation
    assert_int_equal(r[6 * N + i], (lane & 15) < 1 ? -1 : 3 * (i - 1) + 1);   // a shift within a row
    assert_int_equal(r[7 * N + i], 3 * ((i & ~31) | (31 - (i & 31))) + 1);    // a swizzle that reverses
    assert_int_equal(r[8 * N + i], 3 * (wave + ((lane + 63) & 63)) + 1);      // a forward permutation
    assert_int_equal(r[9 * N + i], 64 * 3 * wave + 3 * 63 * 32 + 64);         // a sum over the wave
  }
}

static void arrays_in_scratch_keep_each_lanes_values(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = (int)(random_bits() % 64);
  RUN("scratch", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int values[64], sum = 0;
    for (int k = 0; k < 64; k++) values[k] = i * k;
    for (int k = 0; k < 64; k++) values[(k * 5 + x[i]) % 64] += k;
    for (int k = 0; k < 8; k++) sum += values[(x[i] + k * k) % 64];
    assert_int_equal(r[i], sum);
  }
}

static void registers_may_be_chosen_at_run_time(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = i / 64;
  RUN("indexed", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], (i + 1) * (i / 64 + 1) * 10);
}

static void lanes_leave_loops_at_different_times(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("diverge", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int steps = 0;
    for (unsigned k = (unsigned)i + 1; k != 1; steps++) k = k & 1 ? 3 * k + 1 : k / 2;
    assert_int_equal(r[i], i % 3 == 0 ? steps : i % 3 == 1 ? -steps : i);
  }
}

static void sixteen_bytes_are_moved_at_once(void **state) {
  (void)state;
  float *x = buffer(16 * N), *r = buffer(16 * N);
  for (int i = 0; i < 4 * N; i++) x[i] = random_float();
  RUN("quads", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++)
    for (int k = 0; k < 4; k++) assert_true(r[4 * i + k] == x[4 * (N - 1 - i) + 3 - k] * 2);
  // Four waves load and store 8 lines each; the stores to LDS take 8 cycles for each wave, and so do the
  // loads.
  assert_int_equal(counts.memory_transactions, 4 * (8 + 8));
  assert_int_equal(counts.lds_cycles, 4 * (8 + 8));
}

static void a_flat_pointer_finds_global_lds_and_scratch_memory(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  for (int i = 0; i < N; i++) x[i] = 1000 + i;
  RUN("flat", one_group, ARGUMENT(x), ARGUMENT(r));
  for (int i = 0; i < N; i++)
    assert_int_equal(r[i], i % 3 == 0 ? 1000 + i : i % 3 == 1 ? 2000 + i : 3000 + i);
}

static void functions_are_called_and_constants_read(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  static const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  RUN("calls", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) {
    int product = 1;
    for (int k = i % 8; k > 0; k--) product *= table[k];
    assert_int_equal(r[i], product + table[i % 8]);
  }
}

static void a_workgroup_need_not_fill_its_waves(void **state) {
  (void)state;
  int *r = buffer(4 * 100);
  RUN("identify", ((Shape){.groups = 1, .items = 100}), ARGUMENT(r));
  for (int i = 0; i < 100; i++) assert_int_equal(r[i], i);
}

static void an_out_of_bounds_store_is_reported_with_its_lane(void **state) {
  (void)state;
  int *r = buffer(4 * 70);
  char address[32];
  RUN_AND_FAIL("identify", ((Shape){.groups = 1, .items = 128}), ARGUMENT(r));
  assert_contains(error, "global_store_dword");
  assert_contains(error, "lane 6: store of 4 bytes");
  assert_contains(error, "workgroup 0,0,0 wave 1");
  assert_contains(error, "kernel entry +");
  snprintf(address, sizeof address, "at %p", (void *)(r + 70));
  assert_contains(error, address);
}

static void an_out_of_bounds_load_is_reported_with_its_width(void **state) {
  (void)state;
  float *x = buffer(16 * N - 4), *r = buffer(16 * N);
  RUN_AND_FAIL("quads", one_group, ARGUMENT(x), ARGUMENT(r));
  assert_contains(error, "global_load_dwordx4");
  assert_contains(error, "load of 16 bytes");
}

static void an_out_of_bounds_scalar_load_and_atomic_are_reported(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN_AND_FAIL("uniform", one_group, 64, ARGUMENT(r));
  assert_contains(error, "scalar load of");
  RUN_AND_FAIL("lds_atomics", one_group, ARGUMENT(r), 4096);
  assert_contains(error, "at 0x1000 is out of bounds");
  RUN_AND_FAIL("count", one_group, 4096);
  assert_contains(error, "atomic access to 4 bytes at 0x1000");
}

static void the_same_fault_is_reported_with_any_number_of_threads(void **state) {
  (void)state;
  int *r = buffer(4 * 1000);
  // Workgroup 2 is the first to fault in order, but the last in time.
  for (int threads = 1; threads < 6; threads++) {
    RUN_AND_FAIL("late_fault", ((Shape){.groups = 40, .items = 64, .threads = threads}), ARGUMENT(r), 200000);
    assert_contains(error, "workgroup 2,0,0 wave 0: lane 0: store of 4 bytes");
  }
}

static void accesses_outside_of_lds_are_reported(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("dynamic", ((Shape){.groups = 1, .items = N, .dynamic_lds = 4 * N}), ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], N - 1 - i);
  RUN_AND_FAIL("dynamic", ((Shape){.groups = 1, .items = N, .dynamic_lds = 4 * N - 4}), ARGUMENT(r));
  assert_contains(error, "lane 63: store of 4 bytes at 0x3fc is out of bounds of the workgroup's LDS");
}

static void accesses_outside_of_scratch_are_reported(void **state) {
  (void)state;
  int *x = buffer(4 * N), *r = buffer(4 * N);
  x[9] = 100000;
  RUN_AND_FAIL("stray", one_group, ARGUMENT(x), ARGUMENT(r));
  assert_contains(error, "lane 9: ");
  assert_contains(error, "scratch memory");
}

static void an_unknown_instruction_is_named(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN_AND_FAIL("matrix", one_group, ARGUMENT(r));
  assert_contains(error, "unknown instruction: 'v_mfma_f32_4x4x1");
  assert_contains(error, "at pc 0x");
}

static void a_trap_is_reported(void **state) {
  (void)state;
  RUN_AND_FAIL("traps", one_group, 0);
  assert_contains(error, "s_trap");
}

static void counts_are_the_same_with_one_thread_and_two(void **state) {
  (void)state;
  enum { GROUPS = 40 };
  int *x = buffer(4 * N * GROUPS), *sum = buffer(4 * GROUPS);
  RUN("reduce", ((Shape){.groups = GROUPS, .items = N, .threads = 1}), ARGUMENT(x), ARGUMENT(sum));
  gfx_counts one = counts;
  assert_true(one.wave_instructions > GROUPS * 4 * 50);
  for (int threads = 2; threads <= 4; threads++) {
    RUN("reduce", ((Shape){.groups = GROUPS, .items = N, .threads = threads}), ARGUMENT(x), ARGUMENT(sum));
    assert_memory_equal(&counts, &one, sizeof one);
  }
}

static void memory_lines_and_bank_conflicts_are_counted(void **state) {
  (void)state;
  int *x = buffer(4 * 64 * 64), *r = buffer(4 * 64);
  const Shape wave = {.groups = 1, .items = 64};
  // 64 words in a row are two lines; with a stride of 32 words each is in its own. The result is two lines.
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 1);
  assert_int_equal(counts.memory_transactions, 2 + 2);
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 2);
  assert_int_equal(counts.memory_transactions, 4 + 2);
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 32);
  assert_int_equal(counts.memory_transactions, 64 + 2);
  RUN("stride", wave, ARGUMENT(x), ARGUMENT(r), 0);
  assert_int_equal(counts.memory_transactions, 1 + 2);
  // Lanes in no order, two in each line.
  RUN("shuffled_lines", wave, ARGUMENT(x), ARGUMENT(r));
  assert_int_equal(counts.memory_transactions, 32 + 2);
  // Atomics on one word follow each other: four of them to each of 16 words; then all lanes read one word.
  RUN("contended", ((Shape){.groups = 1, .items = 64, .dynamic_lds = 256}), ARGUMENT(r));
  assert_int_equal(counts.lds_cycles, 2 * 4 + 2);
  // 32 banks: one store and one load of 64 words take two cycles each; a stride of two words doubles that.
  static const struct { int stride, cycles; } cases[] = {{1, 2}, {2, 4}, {4, 8}, {32, 64}, {33, 2}, {0, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    RUN("banks", ((Shape){.groups = 1, .items = 64, .dynamic_lds = 16384}), ARGUMENT(r),
        (uint64_t)cases[i].stride);
    assert_int_equal(counts.lds_cycles, 2 * cases[i].cycles);
  }
}

static void code_loaded_over_other_code_is_decoded_anew(void **state) {
  (void)state;
  int *r = buffer(4 * N);
  RUN("identify", one_group, ARGUMENT(r));
  program_replace("extern \"C\" __global__ void identify(int *r) { r[threadIdx.x] = 7 * threadIdx.x; }");
  RUN("identify", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], 7 * i);
  program_replace(kernels);
  RUN("identify", one_group, ARGUMENT(r));
  for (int i = 0; i < N; i++) assert_int_equal(r[i], i);
}

static int print_rate(void) {
  enum { GROUPS = 64 };
  float *x = buffer(4 * N), *r = buffer(4 * N * GROUPS);
  struct timespec start, end;
  for (int threads = 1; threads <= 2; threads++) {
    const uint64_t arguments[] = {ARGUMENT(x), ARGUMENT(r), 2000};
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (!try_kernel("long_loop", (Shape){.groups = GROUPS, .items = N, .threads = threads}, arguments, 3))
      return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("%d threads: %.1f million wave-instructions in %.2f s, %.2f million a second\n", threads,
           1e-6 * (double)counts.wave_instructions, seconds,
           1e-6 * (double)counts.wave_instructions / seconds);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (!program_open(kernels)) {
    fprintf(stderr,
            "libamdhip64.so.5 and libamd_comgr.so.2 are needed to compile kernels and to decode them\n");
    return 77;
  }
  if (argc > 1 && !strcmp(argv[1], "-s")) return print_rate();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(a_reduction_in_lds_needs_its_barriers_and_gets_them, free_buffers),
      cmocka_unit_test_teardown(a_barrier_waits_for_a_wave_that_takes_long, free_buffers),
      cmocka_unit_test_teardown(waves_may_wait_for_each_other_without_a_barrier, free_buffers),
      cmocka_unit_test_teardown(atomics_of_all_kinds_add_up, free_buffers),
      cmocka_unit_test_teardown(atomics_in_lds_return_what_was_there, free_buffers),
      cmocka_unit_test_teardown(schedules_change_the_order_of_waves_and_nothing_else, free_buffers),
      cmocka_unit_test_teardown(lanes_exchange_values, free_buffers),
      cmocka_unit_test_teardown(arrays_in_scratch_keep_each_lanes_values, free_buffers),
      cmocka_unit_test_teardown(registers_may_be_chosen_at_run_time, free_buffers),
      cmocka_unit_test_teardown(lanes_leave_loops_at_different_times, free_buffers),
      cmocka_unit_test_teardown(sixteen_bytes_are_moved_at_once, free_buffers),
      cmocka_unit_test_teardown(a_flat_pointer_finds_global_lds_and_scratch_memory, free_buffers),
      cmocka_unit_test_teardown(functions_are_called_and_constants_read, free_buffers),
      cmocka_unit_test_teardown(a_workgroup_need_not_fill_its_waves, free_buffers),
      cmocka_unit_test_teardown(an_out_of_bounds_store_is_reported_with_its_lane, free_buffers),
      cmocka_unit_test_teardown(an_out_of_bounds_load_is_reported_with_its_width, free_buffers),
      cmocka_unit_test_teardown(an_out_of_bounds_scalar_load_and_atomic_are_reported, free_buffers),
      cmocka_unit_test_teardown(the_same_fault_is_reported_with_any_number_of_threads, free_buffers),
      cmocka_unit_test_teardown(accesses_outside_of_lds_are_reported, free_buffers),
      cmocka_unit_test_teardown(accesses_outside_of_scratch_are_reported, free_buffers),
      cmocka_unit_test_teardown(an_unknown_instruction_is_named, free_buffers),
      cmocka_unit_test_teardown(a_trap_is_reported, free_buffers),
      cmocka_unit_test_teardown(counts_are_the_same_with_one_thread_and_two, free_buffers),
      cmocka_unit_test_teardown(memory_lines_and_bank_conflicts_are_counted, free_buffers),
      cmocka_unit_test_teardown(code_loaded_over_other_code_is_decoded_anew, free_buffers),
  };
  int failed = test_arithmetic();
  failed += cmocka_run_group_tests(tests, NULL, NULL);
  return failed + test_traffic();
}
