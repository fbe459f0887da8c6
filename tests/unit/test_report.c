// The pure parts of reports: what an instruction counts as, and how many waves fit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/instruction.h"
#include "device/occupancy.h"

#include <string.h>

// --- instructions
// --------------------------------------------------------------------------------------------------

static gt_instruction_counts count(const char *text) {
  gt_instruction_counts counts = {0};
  gt_instruction_count(&counts, text);
  return counts;
}

// The width of the only access; -1 unless there is just one.
static int width_of(const gt_access_counts *counts) {
  int width = -1;
  if (gt_access_total(counts) != 1) return -1;
  for (int i = 0; i < GT_ACCESS_WIDTHS; i++)
    if (counts->of_width[i]) width = gt_access_bytes[i];
  return width;
}

typedef struct {
  const char *text;
  int bytes;
} access_case;

static void check_accesses(const access_case *cases, size_t n, size_t field) {
  for (size_t i = 0; i < n; i++) {
    gt_instruction_counts counts = count(cases[i].text);
    int width = width_of((const gt_access_counts *)(const void *)((const char *)&counts + field));
    if (width != cases[i].bytes) fail_msg("%s: %d bytes, not %d", cases[i].text, width, cases[i].bytes);
    int all = gt_access_total(&counts.global_loads) + gt_access_total(&counts.global_stores) +
              gt_access_total(&counts.lds_reads) + gt_access_total(&counts.lds_writes);
    assert_int_equal(all, 1);
    assert_int_equal(counts.global_atomics + counts.flat_atomics + counts.lds_atomics, 0);
  }
}
#define CHECK_ACCESSES(field, ...)                                                                 \
  do {                                                                                             \
    static const access_case cases[] = {__VA_ARGS__};                                              \
    check_accesses(cases, sizeof cases / sizeof cases[0], offsetof(gt_instruction_counts, field)); \
  } while (0)

static void loads_are_counted_by_their_width(void **state) {
  (void)state;
  CHECK_ACCESSES(
      global_loads, {"\tglobal_load_dwordx4 v[0:3], v4, s[0:1] offset:16", 16},
      {"global_load_dwordx3 v[0:2], v4, s[0:1]", 12}, {"global_load_dwordx2 v[0:1], v4, s[0:1]", 8},
      {"global_load_dword v0, v[4:5], off", 4}, {"global_load_ushort v0, v4, s[0:1]", 2},
      {"global_load_sshort v0, v4, s[0:1]", 2}, {"global_load_short_d16 v0, v4, s[0:1]", 2},
      {"global_load_short_d16_hi v0, v4, s[0:1]", 2}, {"global_load_ubyte v0, v4, s[0:1]", 1},
      {"global_load_sbyte_d16_hi v0, v4, s[0:1]", 1}, {"flat_load_dwordx4 v[0:3], v[4:5]", 16},
      {"flat_load_ushort v0, v[4:5]", 2}, {"buffer_load_dwordx2 v[0:1], v2, s[4:7], 0 offen", 8},
      {"buffer_load_short_d16 v0, v2, s[4:7], 0 offen", 2}, {"global_load_lds_dword v[2:3], off", 4},
      {"global_load_b128 v[0:3], v4, s[0:1]", 16}, {"global_load_d16_hi_b16 v0, v4, s[0:1]", 2},
      {"global_load_u8 v0, v4, s[0:1]", 1}, {"buffer_load_format_xyzw v[0:3], v4, s[8:11], 0 idxen", 0});
}

static void stores_are_counted_by_their_width(void **state) {
  (void)state;
  CHECK_ACCESSES(global_stores, {"global_store_dwordx4 v0, v[2:5], s[0:1]", 16},
                 {"global_store_short v0, v1, s[0:1]", 2}, {"global_store_short_d16_hi v0, v1, s[0:1]", 2},
                 {"global_store_byte v0, v1, s[0:1]", 1}, {"flat_store_dwordx2 v[0:1], v[2:3]", 8},
                 {"buffer_store_dword v0, v1, s[0:3], 0 offen", 4},
                 {"global_store_b64 v0, v[2:3], s[0:1]", 8});
}

static void lds_instructions_are_counted_by_their_width(void **state) {
  (void)state;
  CHECK_ACCESSES(lds_reads, {"ds_read_b128 v[0:3], v4", 16}, {"ds_read_b96 v[0:2], v4", 12},
                 {"ds_read_b64 v[0:1], v4", 8}, {"ds_read_b32 v0, v4", 4},
                 {"ds_read2_b32 v[0:1], v4 offset1:1", 8}, {"ds_read2st64_b64 v[0:3], v4", 16},
                 {"ds_read_u16 v0, v4", 2}, {"ds_read_u16_d16_hi v0, v4", 2}, {"ds_read_i8 v0, v4", 1},
                 {"ds_load_2addr_b32 v[0:1], v4", 8}, {"ds_load_b128 v[0:3], v4", 16});
  CHECK_ACCESSES(lds_writes, {"ds_write_b16_d16_hi v0, v1", 2}, {"ds_write2_b64 v0, v[2:3], v[4:5]", 16},
                 {"ds_write_b8 v0, v1", 1}, {"ds_store_2addr_stride64_b32 v0, v1, v2", 8});
}

static void atomics_are_told_apart_by_memory(void **state) {
  (void)state;
  assert_int_equal(count("global_atomic_add_f32 v0, v1, s[0:1]").global_atomics, 1);
  assert_int_equal(count("buffer_atomic_add v0, v1, s[0:3], 0 offen").global_atomics, 1);
  assert_int_equal(count("flat_atomic_cmpswap v[0:1], v[2:3]").flat_atomics, 1);
  assert_int_equal(count("ds_add_f32 v0, v1").lds_atomics, 1);
  assert_int_equal(count("ds_wrxchg_rtn_b32 v0, v1, v2").lds_atomics, 1);
  assert_int_equal(count("ds_append v0").lds_atomics, 1);
}

static void moves_between_lanes_are_neither_access_nor_atomic(void **state) {
  (void)state;
  static const char *const moves[] = {"ds_bpermute_b32 v0, v1, v2", "ds_permute_b32 v0, v1, v2",
                                      "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)"};
  for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
    gt_instruction_counts n = count(moves[i]);
    assert_int_equal(n.lds, 1);
    assert_int_equal(n.lds_atomics + gt_access_total(&n.lds_reads) + gt_access_total(&n.lds_writes), 0);
  }
}

static void barriers_and_branches_are_counted(void **state) {
  (void)state;
  assert_int_equal(count("s_barrier").barriers, 1);
  assert_int_equal(count("s_barrier_signal -1").barriers, 0);
  assert_int_equal(count("s_barrier_wait 0xffff").barriers, 1);
  assert_int_equal(count("s_branch 12").branches, 1);
  assert_int_equal(count("s_cbranch_execz 12").branches, 1);
  assert_int_equal(count("s_endpgm").branches, 0);
}

static void each_instruction_is_of_one_unit(void **state) {
  (void)state;
  assert_int_equal(count("v_fma_f32 v0, v1, v2, v3").vector, 1);
  assert_int_equal(count("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0").matrix, 1);
  assert_int_equal(count("s_add_u32 s0, s1, s2").scalar, 1);
  assert_int_equal(count("s_cbranch_scc1 3").scalar, 1);
  assert_int_equal(count("s_load_dwordx4 s[0:3], s[4:5], 0x0").scalar_memory, 1);
  assert_int_equal(count("s_buffer_load_dword s0, s[4:7], 0x0").scalar_memory, 1);
  assert_int_equal(count("s_waitcnt vmcnt(0)").waits, 1);
  assert_int_equal(count("s_nop 0").waits, 1);
  assert_int_equal(count("global_load_dword v0, v1, s[0:1]").vector_memory, 1);
  assert_int_equal(count("buffer_wbl2 sc1").vector_memory, 1);
  assert_int_equal(count("ds_read_b32 v0, v1").lds, 1);
  gt_instruction_counts scratch = count("scratch_load_dword v0, off, s33 offset:4");
  assert_int_equal(scratch.vector_memory, 1);
  assert_int_equal(scratch.scratch_accesses, 1);
  assert_int_equal(gt_access_total(&scratch.global_loads), 0);
  assert_int_equal(count("exp mrt0 v0, v1, v2, v3").other, 1);
  assert_int_equal(count("").other, 1);

  gt_instruction_counts all = {0};
  static const char *const lines[] = {"v_mov_b32 v0, 1", "s_mov_b32 s0, 1", "s_endpgm", "ds_nop", "??"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) gt_instruction_count(&all, lines[i]);
  int sum = 0;
#define X(field, words) sum += all.field;
  GT_UNIT_LIST(X)
#undef X
  assert_int_equal(all.total, 5);
  assert_int_equal(sum, 5);
}

static void a_long_word_is_no_overflow(void **state) {
  (void)state;
  char text[4096];
  memset(text, 'v', sizeof text - 1);
  text[sizeof text - 1] = 0;
  assert_int_equal(count(text).other, 1);
}

// --- occupancy
// -----------------------------------------------------------------------------------------------------

static gt_occupancy occupancy(int vgprs, int64_t lds_bytes, int threads) {
  gt_occupancy result;
  assert_true(gt_occupancy_on("gfx942", vgprs, lds_bytes, threads, &result));
  return result;
}

static void registers_limit_waves_in_granules_of_8(void **state) {
  (void)state;
  static const struct {
    int vgprs, waves;
  } cases[] = {{0, 8},  {1, 8},   {64, 8},  {65, 7},  {72, 7},  {73, 6},  {80, 6},  {81, 5}, {96, 5},
               {97, 4}, {128, 4}, {129, 3}, {168, 3}, {169, 2}, {256, 2}, {257, 1}, {512, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_int_equal(occupancy(cases[i].vgprs, 0, 64).by_vgprs, cases[i].waves);
  assert_int_equal(occupancy(65, 0, 64).waves * 4, 7 * 4);
}

static void shared_memory_limits_blocks(void **state) {
  (void)state;
  gt_occupancy o = occupancy(32, 32 * 1024, 256); // two blocks of four waves
  assert_true(o.by_lds == 2 && o.waves == 2);
  o = occupancy(32, 32 * 1024 + 1, 256); // one, since LDS comes in pieces of 512 bytes
  assert_true(o.by_lds == 1 && o.waves == 1);
  o = occupancy(32, 64 * 1024, 64);
  assert_true(o.by_lds == 0.25 && o.waves == 0.25);
  o = occupancy(32, 512, 1024);
  assert_true(o.by_lds == 8 && o.waves == 8);
  o = occupancy(32, 64 * 1024 + 1, 64); // not even one
  assert_true(o.by_lds == 0 && o.waves == 0);
}

static void only_whole_blocks_fit(void **state) {
  (void)state;
  assert_true(occupancy(32, 0, 1024).waves == 8);
  assert_true(occupancy(80, 0, 1024).waves == 4);   // registers have room for 6 waves on each of 4 SIMDs
  assert_true(occupancy(32, 0, 576).waves == 6.75); // three blocks of 9 waves
  assert_true(occupancy(32, 0, 576).by_block == 6.75);
  assert_true(occupancy(32, 0, 1).waves == 8);     // a part of a wave takes a whole one
  assert_true(occupancy(32, 0, 128).waves == 8);   // 16 blocks, no more than there are barriers
  assert_true(occupancy(256, 0, 1024).waves == 0); // eight waves, of the sixteen that a block has
}

static void other_architectures_are_not_guessed(void **state) {
  (void)state;
  gt_occupancy o;
  assert_true(gt_occupancy_on("gfx90a", 32, 0, 64, &o));
  assert_true(gt_occupancy_on("gfx942:sramecc+:xnack-", 32, 0, 64, &o));
  assert_true(gt_occupancy_on("gfx950", 32, 160 * 1024, 256, &o));
  assert_true(o.by_lds == 1);
  assert_false(gt_occupancy_on("gfx94", 32, 0, 64, &o));
  assert_false(gt_occupancy_on("gfx9421", 32, 0, 64, &o));
  assert_false(gt_occupancy_on("gfx1100", 32, 0, 64, &o));
  assert_false(gt_occupancy_on("", 32, 0, 64, &o));
}

static void unknown_facts_give_no_occupancy(void **state) {
  (void)state;
  gt_occupancy o;
  assert_false(gt_occupancy_on("gfx942", -1, 0, 64, &o));
  assert_false(gt_occupancy_on("gfx942", 32, -1, 64, &o));
  assert_false(gt_occupancy_on("gfx942", 32, 0, -1, &o));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loads_are_counted_by_their_width),
      cmocka_unit_test(stores_are_counted_by_their_width),
      cmocka_unit_test(lds_instructions_are_counted_by_their_width),
      cmocka_unit_test(atomics_are_told_apart_by_memory),
      cmocka_unit_test(moves_between_lanes_are_neither_access_nor_atomic),
      cmocka_unit_test(barriers_and_branches_are_counted),
      cmocka_unit_test(each_instruction_is_of_one_unit),
      cmocka_unit_test(a_long_word_is_no_overflow),
      cmocka_unit_test(registers_limit_waves_in_granules_of_8),
      cmocka_unit_test(shared_memory_limits_blocks),
      cmocka_unit_test(only_whole_blocks_fit),
      cmocka_unit_test(other_architectures_are_not_guessed),
      cmocka_unit_test(unknown_facts_give_no_occupancy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
