// Scalar instructions: arithmetic and logic on scalar registers, the execution mask, branches and calls.
#include <stdio.h>
#include <string.h>

#include "wave.h"

// Most scalar instructions compute one value from at most two. Their form is written "result=sources":
//   u  32 bits     q  64 bits     k  a 16-bit constant, sign-extended     d  the destination's old value
// A trailing '?' says that SCC tells whether the result is not zero.
typedef uint64_t (*ScalarFunction)(uint64_t x, uint64_t y, bool *scc);

struct ScalarOperation {
  const char *name, *form;
  ScalarFunction run;
};

#define SCALAR(name, expression)                            \
  static uint64_t name(uint64_t x, uint64_t y, bool *scc) { \
    (void)x, (void)y, (void)scc;                            \
    return (uint64_t)(expression);                          \
  }

// Instructions that carry or compare set SCC themselves.
static uint64_t with_scc(uint64_t result, bool value, bool *scc) {
  *scc = value;
  return result;
}

static uint64_t add_signed(int32_t x, int32_t y, bool *scc) {
  int64_t sum = (int64_t)x + y;
  return with_scc((uint64_t)sum, sum != (int32_t)sum, scc);
}

static uint64_t subtract_signed(int32_t x, int32_t y, bool *scc) {
  int64_t difference = (int64_t)x - y;
  return with_scc((uint64_t)difference, difference != (int32_t)difference, scc);
}

static uint64_t reverse(uint64_t x, int bits) {
  uint64_t result = 0;
  for (int i = 0; i < bits; i++) result |= (x >> i & 1) << (bits - 1 - i);
  return result;
}

static uint64_t replicate_bits(uint64_t x) {
  uint64_t result = 0;
  for (int i = 0; i < 32; i++) result |= (x >> i & 1) * 3ull << (2 * i);
  return result;
}

// Bit field extract: the field's offset is in the low bits of `field` and its width in bits 16 to 22.
static uint64_t extract(uint64_t x, uint64_t field, int bits, bool is_signed) {
  unsigned offset = field & (unsigned)(bits - 1), width = field >> 16 & 127;
  if (width == 0) return 0;
  if (is_signed && bits == 32) x = (uint64_t)(int64_t)(int32_t)x;
  x = is_signed ? (uint64_t)((int64_t)x >> offset) : x >> offset;
  if (width >= (unsigned)bits) return x;
  uint64_t kept = x << (64 - width);
  return is_signed ? (uint64_t)((int64_t)kept >> (64 - width)) : kept >> (64 - width);
}

// Leading bits that equal the sign, or all ones when every bit does.
static uint64_t sign_bits(uint64_t x, int bits) {
  uint64_t shifted = x << (64 - bits);
  if ((int64_t)shifted < 0) shifted = ~shifted & (~0ull << (64 - bits));
  return shifted ? (uint64_t)__builtin_clzll(shifted) : ~0ull;
}

static uint64_t shift_add(uint64_t x, int amount, uint64_t y, bool *scc) {
  uint64_t sum = (x << amount) + y;
  return with_scc(sum, sum >> 32 != 0, scc);
}

SCALAR(copy, x)
SCALAR(move_if, *scc ? x : y)
SCALAR(invert, ~x)
SCALAR(reverse32, reverse(x, 32))
SCALAR(reverse64, reverse(x, 64))
SCALAR(count_zeros32, 32 - __builtin_popcount((uint32_t)x))
SCALAR(count_zeros64, 64 - __builtin_popcountll(x))
SCALAR(count_ones, __builtin_popcountll(x))
SCALAR(find_one, x ? (uint64_t)__builtin_ctzll(x) : ~0ull)
SCALAR(find_zero32, (uint32_t)~x ? (uint64_t)__builtin_ctz((uint32_t)~x) : ~0ull)
SCALAR(find_zero64, ~x ? (uint64_t)__builtin_ctzll(~x) : ~0ull)
SCALAR(leading_zeros32, x ? (uint64_t)__builtin_clz((uint32_t)x) : ~0ull)
SCALAR(leading_zeros64, x ? (uint64_t)__builtin_clzll(x) : ~0ull)
SCALAR(sign_bits32, sign_bits(x, 32))
SCALAR(sign_bits64, sign_bits(x, 64))
SCALAR(extend8, (int8_t)x)
SCALAR(extend16, (int16_t)x)
SCALAR(clear_bit32, y & ~(1ull << (x & 31)))
SCALAR(clear_bit64, y & ~(1ull << (x & 63)))
SCALAR(set_bit32, y | 1ull << (x & 31))
SCALAR(set_bit64, y | 1ull << (x & 63))
SCALAR(replicate, replicate_bits(x))
SCALAR(absolute, (int32_t)x < 0 ? -(uint32_t)x : (uint32_t)x)
SCALAR(difference, (int32_t)x > (int32_t)y ? (uint32_t)x - (uint32_t)y : (uint32_t)y - (uint32_t)x)
SCALAR(add_unsigned, with_scc(x + y, (x + y) >> 32, scc))
SCALAR(add_carry, with_scc(x + y + *scc, (x + y + *scc) >> 32, scc))
SCALAR(subtract_unsigned, with_scc(x - y, y > x, scc))
SCALAR(subtract_borrow, with_scc(x - y - *scc, y + *scc > x, scc))
SCALAR(add_overflow, add_signed((int32_t)x, (int32_t)y, scc))
SCALAR(subtract_overflow, subtract_signed((int32_t)x, (int32_t)y, scc))
SCALAR(signed_min, with_scc((int32_t)x < (int32_t)y ? x : y, (int32_t)x < (int32_t)y, scc))
SCALAR(signed_max, with_scc((int32_t)x > (int32_t)y ? x : y, (int32_t)x > (int32_t)y, scc))
SCALAR(unsigned_min, with_scc(x < y ? x : y, x < y, scc))
SCALAR(unsigned_max, with_scc(x > y ? x : y, x > y, scc))
SCALAR(and, x &y)
SCALAR(or, x | y)
SCALAR(xor, x ^ y)
SCALAR(and_not, x & ~y)
SCALAR(or_not, x | ~y)
SCALAR(not_and, ~(x &y))
SCALAR(not_or, ~(x | y))
SCALAR(not_xor, ~(x ^ y))
SCALAR(shift_left32, x << (y & 31))
SCALAR(shift_left64, x << (y & 63))
SCALAR(shift_right32, x >> (y & 31))
SCALAR(shift_right64, x >> (y & 63))
SCALAR(shift_signed32, (int32_t)x >> (y & 31))
SCALAR(shift_signed64, (int64_t)x >> (y & 63))
SCALAR(mask32, ((1ull << (x & 31)) - 1) << (y & 31))
SCALAR(mask64, ((1ull << (x & 63)) - 1) << (y & 63))
SCALAR(multiply, x *y)
SCALAR(multiply_high_unsigned, x *y >> 32)
SCALAR(multiply_high_signed, (int64_t)(int32_t)x *(int32_t)y >> 32)
SCALAR(extract_unsigned32, extract(x, y, 32, false))
SCALAR(extract_signed32, extract(x, y, 32, true))
SCALAR(extract_unsigned64, extract(x, y, 64, false))
SCALAR(extract_signed64, extract(x, y, 64, true))
SCALAR(shift1_add, shift_add(x, 1, y, scc))
SCALAR(shift2_add, shift_add(x, 2, y, scc))
SCALAR(shift3_add, shift_add(x, 3, y, scc))
SCALAR(shift4_add, shift_add(x, 4, y, scc))
SCALAR(pack_low_low, (x & 0xffff) | y << 16)
SCALAR(pack_low_high, (x & 0xffff) | (y & 0xffff0000))
SCALAR(pack_high_high, (x >> 16 & 0xffff) | (y & 0xffff0000))
SCALAR(zero, 0)

static const ScalarOperation operations[] = {
    {"s_mov_b32", "u=u", copy},
    {"s_mov_b64", "q=q", copy},
    {"s_movk_i32", "u=k", copy},
    {"s_cmov_b32", "u=ud", move_if},
    {"s_cmov_b64", "q=qd", move_if},
    {"s_cmovk_i32", "u=kd", move_if},
    {"s_cselect_b32", "u=uu", move_if},
    {"s_cselect_b64", "q=qq", move_if},
    {"s_not_b32", "u=u?", invert},
    {"s_not_b64", "q=q?", invert},
    {"s_brev_b32", "u=u", reverse32},
    {"s_brev_b64", "q=q", reverse64},
    {"s_bcnt0_i32_b32", "u=u?", count_zeros32},
    {"s_bcnt0_i32_b64", "u=q?", count_zeros64},
    {"s_bcnt1_i32_b32", "u=u?", count_ones},
    {"s_bcnt1_i32_b64", "u=q?", count_ones},
    {"s_ff1_i32_b32", "u=u", find_one},
    {"s_ff1_i32_b64", "u=q", find_one},
    {"s_ff0_i32_b32", "u=u", find_zero32},
    {"s_ff0_i32_b64", "u=q", find_zero64},
    {"s_flbit_i32_b32", "u=u", leading_zeros32},
    {"s_flbit_i32_b64", "u=q", leading_zeros64},
    {"s_flbit_i32", "u=u", sign_bits32},
    {"s_flbit_i32_i64", "u=q", sign_bits64},
    {"s_sext_i32_i8", "u=u", extend8},
    {"s_sext_i32_i16", "u=u", extend16},
    {"s_bitset0_b32", "u=ud", clear_bit32},
    {"s_bitset0_b64", "q=ud", clear_bit64},
    {"s_bitset1_b32", "u=ud", set_bit32},
    {"s_bitset1_b64", "q=ud", set_bit64},
    {"s_bitreplicate_b64_b32", "q=u", replicate},
    {"s_abs_i32", "u=u?", absolute},
    {"s_absdiff_i32", "u=uu?", difference},
    {"s_add_u32", "u=uu", add_unsigned},
    {"s_addc_u32", "u=uu", add_carry},
    {"s_sub_u32", "u=uu", subtract_unsigned},
    {"s_subb_u32", "u=uu", subtract_borrow},
    {"s_add_i32", "u=uu", add_overflow},
    {"s_sub_i32", "u=uu", subtract_overflow},
    {"s_addk_i32", "u=kd", add_overflow},
    {"s_mulk_i32", "u=kd", multiply},
    {"s_min_i32", "u=uu", signed_min},
    {"s_max_i32", "u=uu", signed_max},
    {"s_min_u32", "u=uu", unsigned_min},
    {"s_max_u32", "u=uu", unsigned_max},
    {"s_and_b32", "u=uu?", and},
    {"s_and_b64", "q=qq?", and},
    {"s_or_b32", "u=uu?", or },
    {"s_or_b64", "q=qq?", or },
    {"s_xor_b32", "u=uu?", xor},
    {"s_xor_b64", "q=qq?", xor},
    {"s_andn2_b32", "u=uu?", and_not},
    {"s_andn2_b64", "q=qq?", and_not},
    {"s_orn2_b32", "u=uu?", or_not},
    {"s_orn2_b64", "q=qq?", or_not},
    {"s_nand_b32", "u=uu?", not_and},
    {"s_nand_b64", "q=qq?", not_and},
    {"s_nor_b32", "u=uu?", not_or},
    {"s_nor_b64", "q=qq?", not_or},
    {"s_xnor_b32", "u=uu?", not_xor},
    {"s_xnor_b64", "q=qq?", not_xor},
    {"s_lshl_b32", "u=uu?", shift_left32},
    {"s_lshl_b64", "q=qu?", shift_left64},
    {"s_lshr_b32", "u=uu?", shift_right32},
    {"s_lshr_b64", "q=qu?", shift_right64},
    {"s_ashr_i32", "u=uu?", shift_signed32},
    {"s_ashr_i64", "q=qu?", shift_signed64},
    {"s_bfm_b32", "u=uu", mask32},
    {"s_bfm_b64", "q=uu", mask64},
    {"s_mul_i32", "u=uu", multiply},
    {"s_mul_hi_u32", "u=uu", multiply_high_unsigned},
    {"s_mul_hi_i32", "u=uu", multiply_high_signed},
    {"s_bfe_u32", "u=uu?", extract_unsigned32},
    {"s_bfe_i32", "u=uu?", extract_signed32},
    {"s_bfe_u64", "q=qu?", extract_unsigned64},
    {"s_bfe_i64", "q=qu?", extract_signed64},
    {"s_lshl1_add_u32", "u=uu", shift1_add},
    {"s_lshl2_add_u32", "u=uu", shift2_add},
    {"s_lshl3_add_u32", "u=uu", shift3_add},
    {"s_lshl4_add_u32", "u=uu", shift4_add},
    {"s_pack_ll_b32_b16", "u=uu", pack_low_low},
    {"s_pack_lh_b32_b16", "u=uu", pack_low_high},
    {"s_pack_hh_b32_b16", "u=uu", pack_high_high},
    {"s_getreg_b32", "u=", zero},
};

static uint64_t read_as(const Wave *wave, const Instruction *instruction, char kind, int source) {
  const Operand *operand = &instruction->operand[source];
  switch (kind) {
  case 'q':
    return wave_read64(wave, operand);
  case 'k':
    return (uint32_t)(int16_t)operand->integer;
  case 'd':
    return wave_read64(wave, &instruction->operand[0]);
  case 'u':
    return wave_read32(wave, operand);
  default:
    return 0;
  }
}

static bool execute_operation(Wave *wave, const Instruction *instruction) {
  const ScalarOperation *operation = instruction->scalar;
  const char *form = operation->form;
  char first = form[2], second = first && first != '?' ? form[3] : 0;
  uint64_t x = read_as(wave, instruction, first, 1), y = read_as(wave, instruction, second, 2);
  uint64_t result = operation->run(x, y, &wave->scc);
  int destination = instruction->operand[0].reg;
  if (form[0] == 'q')
    set_scalar_pair(wave, destination, result);
  else
    wave->scalar[destination] = (uint32_t)(result &= 0xffffffff);
  if (form[strlen(form) - 1] == '?') wave->scc = result != 0;
  return true;
}

// Instructions that do more than compute a value.

static bool compare(Wave *wave, const Instruction *instruction, bool less, bool equal) {
  int relation = equal ? RELATION_EQUAL : less ? RELATION_LESS : RELATION_GREATER;
  wave->scc = (instruction->condition & relation) != 0;
  return true;
}

static bool compare_i32(Wave *wave, const Instruction *instruction) {
  int32_t x = (int32_t)wave_read32(wave, &instruction->operand[0]);
  int32_t y = (int32_t)wave_read32(wave, &instruction->operand[1]);
  return compare(wave, instruction, x < y, x == y);
}

static bool compare_k_i32(Wave *wave, const Instruction *instruction) {
  int32_t x = (int32_t)wave_read32(wave, &instruction->operand[0]);
  int32_t y = (int16_t)instruction->operand[1].integer;
  return compare(wave, instruction, x < y, x == y);
}

static bool compare_u32(Wave *wave, const Instruction *instruction) {
  uint32_t x = wave_read32(wave, &instruction->operand[0]), y = wave_read32(wave, &instruction->operand[1]);
  return compare(wave, instruction, x < y, x == y);
}

static bool compare_k_u32(Wave *wave, const Instruction *instruction) {
  uint32_t x = wave_read32(wave, &instruction->operand[0]), y = (uint16_t)instruction->operand[1].integer;
  return compare(wave, instruction, x < y, x == y);
}

static bool compare_u64(Wave *wave, const Instruction *instruction) {
  uint64_t x = wave_read64(wave, &instruction->operand[0]), y = wave_read64(wave, &instruction->operand[1]);
  return compare(wave, instruction, x < y, x == y);
}

// The bit test's condition holds the value of the bit that sets SCC.
static bool test_bit32(Wave *wave, const Instruction *instruction) {
  uint32_t x = wave_read32(wave, &instruction->operand[0]),
           bit = wave_read32(wave, &instruction->operand[1]) & 31;
  wave->scc = (x >> bit & 1) == instruction->condition;
  return true;
}

static bool test_bit64(Wave *wave, const Instruction *instruction) {
  uint64_t x = wave_read64(wave, &instruction->operand[0]);
  uint32_t bit = wave_read32(wave, &instruction->operand[1]) & 63;
  wave->scc = (x >> bit & 1) == instruction->condition;
  return true;
}

// Swaps the execution mask for a combination with it, and keeps the old one (saveexec) or the new one
// (wrexec).
typedef enum {
  EXEC_AND,
  EXEC_OR,
  EXEC_XOR,
  EXEC_ANDN2,
  EXEC_ORN2,
  EXEC_NAND,
  EXEC_NOR,
  EXEC_XNOR,
  EXEC_ANDN1,
  EXEC_ORN1
} ExecChange;

static uint64_t combine_exec(ExecChange change, uint64_t x, uint64_t exec) {
  switch (change) {
  case EXEC_AND:
    return x & exec;
  case EXEC_OR:
    return x | exec;
  case EXEC_XOR:
    return x ^ exec;
  case EXEC_ANDN2:
    return x & ~exec;
  case EXEC_ORN2:
    return x | ~exec;
  case EXEC_NAND:
    return ~(x & exec);
  case EXEC_NOR:
    return ~(x | exec);
  case EXEC_XNOR:
    return ~(x ^ exec);
  case EXEC_ANDN1:
    return ~x & exec;
  case EXEC_ORN1:
    return ~x | exec;
  }
  return exec;
}

static bool change_exec(Wave *wave, const Instruction *instruction, bool keep_old) {
  uint64_t exec = wave_exec(wave), x = wave_read64(wave, &instruction->operand[1]);
  uint64_t result = combine_exec((ExecChange)instruction->condition, x, exec);
  set_scalar_pair(wave, instruction->operand[0].reg, keep_old ? exec : result);
  set_scalar_pair(wave, SCALAR_EXEC, result);
  wave->scc = result != 0;
  return true;
}

static bool save_exec(Wave *wave, const Instruction *instruction) {
  return change_exec(wave, instruction, true);
}
static bool write_exec(Wave *wave, const Instruction *instruction) {
  return change_exec(wave, instruction, false);
}

static bool jump_if(Wave *wave, const Instruction *instruction, bool taken) {
  int distance = (int16_t)instruction->operand[instruction->operands - 1].integer;
  if (taken) wave->pc += (uint64_t)(4 * (int64_t)distance);
  return true;
}

static bool branch(Wave *w, const Instruction *i) {
  return jump_if(w, i, true);
}
static bool branch_scc0(Wave *w, const Instruction *i) {
  return jump_if(w, i, !w->scc);
}
static bool branch_scc1(Wave *w, const Instruction *i) {
  return jump_if(w, i, w->scc);
}
static bool branch_vccz(Wave *w, const Instruction *i) {
  return jump_if(w, i, scalar_pair(w, SCALAR_VCC) == 0);
}
static bool branch_vccnz(Wave *w, const Instruction *i) {
  return jump_if(w, i, scalar_pair(w, SCALAR_VCC) != 0);
}
static bool branch_execz(Wave *w, const Instruction *i) {
  return jump_if(w, i, wave_exec(w) == 0);
}
static bool branch_execnz(Wave *w, const Instruction *i) {
  return jump_if(w, i, wave_exec(w) != 0);
}

static bool get_pc(Wave *wave, const Instruction *instruction) {
  set_scalar_pair(wave, instruction->operand[0].reg, wave->pc);
  return true;
}

static bool set_pc(Wave *wave, const Instruction *instruction) {
  wave->pc = wave_read64(wave, &instruction->operand[0]);
  return true;
}

static bool swap_pc(Wave *wave, const Instruction *instruction) {
  uint64_t target = wave_read64(wave, &instruction->operand[1]);
  get_pc(wave, instruction);
  wave->pc = target;
  return true;
}

static bool call(Wave *wave, const Instruction *instruction) {
  get_pc(wave, instruction);
  return jump_if(wave, instruction, true);
}

static bool end_program(Wave *wave, const Instruction *instruction) {
  (void)instruction;
  wave->done = true;
  return true;
}

static bool barrier(Wave *wave, const Instruction *instruction) {
  (void)instruction;
  wave->at_barrier = true;
  return true;
}

static bool trap(Wave *wave, const Instruction *instruction) {
  return wave_fault(wave, instruction, "the kernel trapped");
}

// The clock counts the wave's own instructions: it rises, and it is the same in every run.
static bool read_clock(Wave *wave, const Instruction *instruction) {
  set_scalar_pair(wave, instruction->operand[0].reg, wave->instructions);
  return true;
}

// Vector registers chosen at run time: M0 holds what is added to the numbers of the operands that the mode
// names.
static void set_index(Wave *wave, uint32_t index) {
  wave->scalar[SCALAR_M0] = (wave->scalar[SCALAR_M0] & ~0xffu) | (index & 0xff);
}

static void set_index_mode(Wave *wave, uint32_t mode) {
  wave->scalar[SCALAR_M0] = (wave->scalar[SCALAR_M0] & ~0xf000u) | (mode & 15) << 12;
}

static bool index_on(Wave *wave, const Instruction *instruction) {
  set_index(wave, wave_read32(wave, &instruction->operand[0]));
  set_index_mode(wave, (uint32_t)instruction->operand[1].integer);
  wave->index_mode = instruction->operand[1].integer & 15;
  return true;
}

static bool index_off(Wave *wave, const Instruction *instruction) {
  (void)instruction;
  wave->index_mode = 0;
  return true;
}

static bool index_index(Wave *wave, const Instruction *instruction) {
  set_index(wave, wave_read32(wave, &instruction->operand[0]));
  return true;
}

static bool index_mode(Wave *wave, const Instruction *instruction) {
  set_index_mode(wave, (uint32_t)instruction->operand[0].integer);
  wave->index_mode = instruction->operand[0].integer & 15;
  return true;
}

static const struct {
  const char *name;
  Execute execute;
  uint8_t condition;
} controls[] = {
    {"s_branch", branch, 0},
    {"s_cbranch_scc0", branch_scc0, 0},
    {"s_cbranch_scc1", branch_scc1, 0},
    {"s_cbranch_vccz", branch_vccz, 0},
    {"s_cbranch_vccnz", branch_vccnz, 0},
    {"s_cbranch_execz", branch_execz, 0},
    {"s_cbranch_execnz", branch_execnz, 0},
    {"s_getpc_b64", get_pc, 0},
    {"s_setpc_b64", set_pc, 0},
    {"s_swappc_b64", swap_pc, 0},
    {"s_call_b64", call, 0},
    {"s_endpgm", end_program, 0},
    {"s_endpgm_saved", end_program, 0},
    {"s_barrier", barrier, 0},
    {"s_trap", trap, 0},
    {"s_memtime", read_clock, 0},
    {"s_memrealtime", read_clock, 0},
    {"s_set_gpr_idx_on", index_on, 0},
    {"s_set_gpr_idx_off", index_off, 0},
    {"s_set_gpr_idx_idx", index_index, 0},
    {"s_set_gpr_idx_mode", index_mode, 0},
    {"s_bitcmp0_b32", test_bit32, 0},
    {"s_bitcmp1_b32", test_bit32, 1},
    {"s_bitcmp0_b64", test_bit64, 0},
    {"s_bitcmp1_b64", test_bit64, 1},
    {"s_and_saveexec_b64", save_exec, EXEC_AND},
    {"s_or_saveexec_b64", save_exec, EXEC_OR},
    {"s_xor_saveexec_b64", save_exec, EXEC_XOR},
    {"s_andn2_saveexec_b64", save_exec, EXEC_ANDN2},
    {"s_orn2_saveexec_b64", save_exec, EXEC_ORN2},
    {"s_nand_saveexec_b64", save_exec, EXEC_NAND},
    {"s_nor_saveexec_b64", save_exec, EXEC_NOR},
    {"s_xnor_saveexec_b64", save_exec, EXEC_XNOR},
    {"s_andn1_saveexec_b64", save_exec, EXEC_ANDN1},
    {"s_orn1_saveexec_b64", save_exec, EXEC_ORN1},
    {"s_andn1_wrexec_b64", write_exec, EXEC_ANDN1},
    {"s_andn2_wrexec_b64", write_exec, EXEC_ANDN2},
};

static bool compare_lookup(const char *name, Instruction *instruction) {
  static const struct {
    const char *name;
    uint8_t condition;
  } conditions[] = {
      {"eq", RELATION_EQUAL},
      {"lg", RELATION_LESS | RELATION_GREATER},
      {"gt", RELATION_GREATER},
      {"lt", RELATION_LESS},
      {"ge", RELATION_GREATER | RELATION_EQUAL},
      {"le", RELATION_LESS | RELATION_EQUAL},
  };
  char condition[3], type[4];
  bool constant = false;
  if (sscanf(name, "s_cmp_%2[a-z]_%3s", condition, type) != 2) {
    if (sscanf(name, "s_cmpk_%2[a-z]_%3s", condition, type) != 2) return false;
    constant = true;
  }
  for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
    if (!strcmp(condition, conditions[i].name)) {
      instruction->condition = conditions[i].condition;
      if (!strcmp(type, "i32")) instruction->execute = constant ? compare_k_i32 : compare_i32;
      if (!strcmp(type, "u32")) instruction->execute = constant ? compare_k_u32 : compare_u32;
      if (!strcmp(type, "u64")) instruction->execute = compare_u64;
    }
  return instruction->execute != NULL;
}

bool scalar_lookup(const char *name, Instruction *instruction) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (!strcmp(name, operations[i].name)) {
      instruction->scalar = &operations[i];
      instruction->execute = execute_operation;
      return true;
    }
  for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
    if (!strcmp(name, controls[i].name)) {
      instruction->execute = controls[i].execute;
      instruction->condition = controls[i].condition;
      return true;
    }
  return compare_lookup(name, instruction);
}
