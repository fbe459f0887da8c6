#include "vector.h"

#include <stdio.h>
#include <string.h>

// One operand for all lanes, as 32 or 64 bits each.
typedef union {
  uint32_t word[2 * LANES];
  uint64_t pair[LANES];
  float single[2 * LANES];
} LaneBuffer;

// A constant or scalar operand in the width and kind that the instruction reads.
static uint64_t uniform_value(const Wave *wave, const Operand *operand, char kind) {
  if (operand->kind == OPERAND_FLOAT) {
    if (kind == 'd' || kind == 'q') return wave_read64(wave, operand);
    if (kind == 'h' || kind == 'r') return half_bits(operand->real);
    uint64_t bits = wave_read32(wave, operand);
    return bits << 32 | bits;
  }
  if (operand->kind == OPERAND_INTEGER) {
    // A 32-bit literal is the high half of a double; the small inline constants are themselves.
    if (kind == 'd' && (operand->integer > 64 || operand->integer < -16))
      return (uint64_t)operand->integer << 32;
    if (kind == 'P') return (uint32_t)operand->integer | (uint64_t)operand->integer << 32;
    return (uint64_t)operand->integer;
  }
  if (operand->words > 1 || kind == 'd' || kind == 'q' || kind == 'P') return wave_read64(wave, operand);
  return wave_read32(wave, operand);
}

// One register through the data-parallel primitive of the instruction. Lanes that read nothing get zero.
static void read_through_dpp(const Wave *wave, const Instruction *instruction, const uint32_t *from,
                             uint32_t *to) {
  uint64_t exec = wave_exec(wave);
  for (int lane = 0; lane < LANES; lane++) {
    int source = instruction->dpp_lane[lane];
    to[lane] = source >= 0 && exec >> source & 1 ? from[source] : 0;
  }
}

FOR_EACH_PROCESSOR static void broadcast(uint32_t value, uint32_t *restrict to) {
  for (int lane = 0; lane < LANES; lane++) to[lane] = value;
}

// The words of an operand: its own registers where they can be used as they are, else a copy in `buffer`.
static const uint32_t *read_words(const Wave *wave, const Instruction *instruction, int source,
                                  const Operand *operand, char kind, int which, uint32_t *buffer) {
  if (operand->kind == OPERAND_VECTOR) {
    const uint32_t *own = wave->vector[operand->reg + which];
    if (!instruction->dpp || source != 0) return own;
    read_through_dpp(wave, instruction, own, buffer);
    return buffer;
  }
  broadcast((uint32_t)(uniform_value(wave, operand, kind) >> (32 * which)), buffer);
  return buffer;
}

static uint32_t select_part(uint32_t word, Select select, bool sign_extend) {
  if (select == SELECT_DWORD) return word;
  if (select >= SELECT_WORD_0) {
    word = word >> (16 * (select - SELECT_WORD_0)) & 0xffff;
    return sign_extend ? (uint32_t)(int16_t)word : word;
  }
  word = word >> (8 * (select - SELECT_BYTE_0)) & 0xff;
  return sign_extend ? (uint32_t)(int8_t)word : word;
}

// As read_words, with the part of each word that SDWA selects.
static const uint32_t *read_selected(const Wave *wave, const Instruction *instruction, int source,
                                     const Operand *operand, char kind, uint32_t *buffer) {
  const uint32_t *words = read_words(wave, instruction, source, operand, kind, 0, buffer);
  Select select = source < 2 ? instruction->source_select[source] : SELECT_DWORD;
  if (select == SELECT_DWORD) return words;
  for (int lane = 0; lane < LANES; lane++)
    buffer[lane] = select_part(words[lane], select, operand->sign_extend);
  return buffer;
}

FOR_EACH_PROCESSOR static void change_bits(const uint32_t *from, uint32_t keep, uint32_t flip, uint32_t *to) {
  for (int lane = 0; lane < LANES; lane++) to[lane] = (from[lane] & keep) ^ flip;
}

// Absolute value and negation, which only change the sign bit.
static const uint32_t *with_sign(const Operand *operand, const uint32_t *words, uint32_t sign,
                                 uint32_t *buffer) {
  if (!operand->absolute && !operand->negate) return words;
  change_bits(words, operand->absolute ? ~sign : ~0u, operand->negate ? sign : 0, buffer);
  return buffer;
}

FOR_EACH_PROCESSOR static void join(const uint32_t *restrict low, const uint32_t *restrict high,
                                    uint64_t *restrict to) {
  for (int lane = 0; lane < LANES; lane++) to[lane] = low[lane] | (uint64_t)high[lane] << 32;
}

static void read_pairs(const Wave *wave, const Instruction *instruction, int source, const Operand *operand,
                       char kind, LaneBuffer *buffer) {
  uint32_t low[LANES], high[LANES];
  const uint32_t *first = read_words(wave, instruction, source, operand, kind, 0, low);
  const uint32_t *second = read_words(wave, instruction, source, operand, kind, 1, high);
  if (kind == 'd') second = with_sign(operand, second, 1u << 31, high);
  join(first, second, buffer->pair);
}

// Two 16-bit parts, each from the half that op_sel or op_sel_hi names.
static const uint32_t *read_packed(const Wave *wave, const Instruction *instruction, int source,
                                   const Operand *operand, char kind, uint32_t *buffer) {
  const uint32_t *words = read_words(wave, instruction, source, operand, kind, 0, buffer);
  int low = instruction->op_sel >> source & 1 ? 16 : 0, high = instruction->op_sel_hi >> source & 1 ? 16 : 0;
  uint32_t flip = 0;
  if (kind == 'r')
    flip = (instruction->neg_lo >> source & 1) << 15 | (uint32_t)(instruction->neg_hi >> source & 1) << 31;
  if (low == 0 && high == 16 && flip == 0) return words;
  for (int lane = 0; lane < LANES; lane++)
    buffer[lane] = ((words[lane] >> low & 0xffff) | words[lane] >> high << 16) ^ flip;
  return buffer;
}

static void read_packed_pairs(const Wave *wave, const Instruction *instruction, int source,
                              const Operand *operand, LaneBuffer *buffer) {
  uint32_t low[LANES], high[LANES];
  const uint32_t *part[2] = {read_words(wave, instruction, source, operand, 'P', 0, low),
                             read_words(wave, instruction, source, operand, 'P', 1, high)};
  const uint32_t *first = part[instruction->op_sel >> source & 1],
                 *second = part[instruction->op_sel_hi >> source & 1];
  uint32_t flip_first = (uint32_t)(instruction->neg_lo >> source & 1) << 31;
  uint32_t flip_second = (uint32_t)(instruction->neg_hi >> source & 1) << 31;
  for (int lane = 0; lane < LANES; lane++) {
    buffer->word[2 * lane] = first[lane] ^ flip_first;
    buffer->word[2 * lane + 1] = second[lane] ^ flip_second;
  }
}

FOR_EACH_PROCESSOR static void halves_to_floats(const uint32_t *from, int shift, float *restrict to) {
  for (int lane = 0; lane < LANES; lane++) to[lane] = half_to_float(from[lane] >> shift);
}

static const void *read_half(const Wave *wave, const Instruction *instruction, int source,
                             const Operand *operand, LaneBuffer *buffer) {
  uint32_t bits[LANES];
  const uint32_t *words = read_selected(wave, instruction, source, operand, 'h', bits);
  halves_to_floats(words, instruction->op_sel >> source & 1 ? 16 : 0, buffer->single);
  return with_sign(operand, buffer->word, 1u << 31, buffer->word);
}

static const void *read_word16(const Wave *wave, const Instruction *instruction, int source,
                               const Operand *operand, LaneBuffer *buffer) {
  // The constants of a half are half-precision numbers where they are written as floats.
  const uint32_t *words = read_selected(wave, instruction, source, operand, 'h', buffer->word);
  int shift = instruction->op_sel >> source & 1 ? 16 : 0;
  for (int lane = 0; lane < LANES; lane++) buffer->word[lane] = words[lane] >> shift & 0xffff;
  return with_sign(operand, buffer->word, 1u << 15, buffer->word);
}

static const void *read_mask(const Wave *wave, const Instruction *instruction, int at, LaneBuffer *buffer) {
  // Some encodings leave VCC unsaid.
  uint64_t mask = at < instruction->operands ? wave_read64(wave, &instruction->operand[at])
                                             : scalar_pair(wave, SCALAR_VCC);
  for (int lane = 0; lane < LANES; lane++) buffer->word[lane] = mask >> lane & 1;
  return buffer->word;
}

static const void *read_source(const Wave *wave, const Instruction *instruction, int source, int at,
                               char kind, LaneBuffer *buffer) {
  const Operand *operand = &instruction->operand[at];
  switch (kind) {
  case 'u':
    return read_selected(wave, instruction, source, operand, kind, buffer->word);
  case 'f':
    return with_sign(operand, read_selected(wave, instruction, source, operand, kind, buffer->word), 1u << 31,
                     buffer->word);
  case 'h':
    return read_half(wave, instruction, source, operand, buffer);
  case 'w':
    return read_word16(wave, instruction, source, operand, buffer);
  case 'p':
  case 'r':
    return read_packed(wave, instruction, source, operand, kind, buffer->word);
  case 'x':
    if (instruction->op_sel_hi >> source & 1) return read_half(wave, instruction, source, operand, buffer);
    return read_source(wave, instruction, source, at, 'f', buffer);
  case 'P':
    read_packed_pairs(wave, instruction, source, operand, buffer);
    return buffer->pair;
  case 'm':
    return read_mask(wave, instruction, at, buffer);
  default:
    read_pairs(wave, instruction, source, operand, kind, buffer);
    return buffer->pair;
  }
}

// The destination's old value, which no modifier touches.
static const void *read_old(const Wave *wave, int reg, char kind, LaneBuffer *buffer) {
  if (kind == 'h') {
    halves_to_floats(wave->vector[reg], 0, buffer->single);
    return buffer->single;
  }
  if (kind != 'd') return wave->vector[reg];
  join(wave->vector[reg], wave->vector[reg + 1], buffer->pair);
  return buffer->pair;
}

// The lanes that the result reaches: those that are on, less those that the data-parallel primitive masks.
static uint64_t written_lanes(const Wave *wave, const Instruction *instruction) {
  uint64_t exec = wave_exec(wave), lanes = exec;
  if (!instruction->dpp) return lanes;
  for (int lane = 0; lane < LANES; lane++) {
    int source = instruction->dpp_lane[lane];
    bool valid = source >= 0 && exec >> source & 1;
    bool row = instruction->row_mask >> (lane >> 4) & 1, bank = instruction->bank_mask >> (lane >> 2 & 3) & 1;
    if (!row || !bank || (!valid && !instruction->bound_control)) lanes &= ~(1ull << lane);
  }
  return lanes;
}

FOR_EACH_PROCESSOR static void blend(const uint32_t *restrict mask, const uint32_t *restrict value,
                                     uint32_t *restrict to) {
  for (int lane = 0; lane < LANES; lane++) to[lane] = (value[lane] & mask[lane]) | (to[lane] & ~mask[lane]);
}

static void write_words(Wave *wave, int reg, uint64_t lanes, const uint32_t *value) {
  uint32_t *to = wave->vector[reg];
  if (lanes == ~0ull) {
    memcpy(to, value, LANES * sizeof *to);
    return;
  }
  // The mask for each lane is kept: the same lanes stay on for many instructions.
  if (wave->lane_mask_of != lanes) {
    for (int lane = 0; lane < LANES; lane++) wave->lane_mask[lane] = -(uint32_t)(lanes >> lane & 1);
    wave->lane_mask_of = lanes;
  }
  blend(wave->lane_mask, value, to);
}

static float clamp_single(float x) {
  return x > 0 ? (x < 1 ? x : 1.f) : 0.f;
}

static uint32_t clamp_half(uint32_t bits) {
  return half_bits_from_single(clamp_single(half_to_float(bits)));
}

// Puts the words of an SDWA result, or of a half that leaves the other one, where they belong.
static void place_parts(const Wave *wave, const Instruction *instruction, Select select, Unused unused,
                        uint32_t *value) {
  const uint32_t *old = wave->vector[instruction->operand[0].reg];
  int shift = select >= SELECT_WORD_0 ? 16 * (select - SELECT_WORD_0) : 8 * (select - SELECT_BYTE_0);
  uint32_t mask = (select >= SELECT_WORD_0 ? 0xffffu : 0xffu) << shift;
  for (int lane = 0; lane < LANES; lane++) {
    uint32_t part = value[lane] << shift & mask, rest = 0;
    if (unused == UNUSED_PRESERVE) rest = old[lane] & ~mask;
    if (unused == UNUSED_SEXT && part > mask >> 1) rest = ~(mask | (mask - 1));
    value[lane] = part | rest;
  }
}

static void finish_single(const Instruction *instruction, float *value, int count) {
  if (instruction->output_scale != 1.f)
    for (int i = 0; i < count; i++) value[i] *= instruction->output_scale;
  if (instruction->clamp)
    for (int i = 0; i < count; i++) value[i] = clamp_single(value[i]);
}

static void finish_double(const Instruction *instruction, LaneBuffer *value) {
  if (instruction->output_scale == 1.f && !instruction->clamp) return;
  for (int lane = 0; lane < LANES; lane++) {
    double x;
    memcpy(&x, &value->pair[lane], sizeof x);
    x *= instruction->output_scale;
    if (instruction->clamp) x = x > 0 ? (x < 1 ? x : 1.) : 0.;
    memcpy(&value->pair[lane], &x, sizeof x);
  }
}

// Applies what the instruction asks for after the computation: scale, clamp, and the part of the register.
static void finish_result(const Wave *wave, const Instruction *instruction, char kind, LaneBuffer *value) {
  switch (kind) {
  case 'f':
    finish_single(instruction, value->single, LANES);
    break;
  case 'P':
    finish_single(instruction, value->single, 2 * LANES);
    break;
  case 'd':
    finish_double(instruction, value);
    break;
  case 'w':
    for (int lane = 0; lane < LANES; lane++) value->word[lane] &= 0xffff;
    break;
  case 'h':
  case 'L':
  case 'H':
    if (instruction->clamp)
      for (int lane = 0; lane < LANES; lane++) value->word[lane] = clamp_half(value->word[lane]);
    break;
  case 'r':
    if (instruction->clamp)
      for (int lane = 0; lane < LANES; lane++)
        value->word[lane] = clamp_half(value->word[lane]) | clamp_half(value->word[lane] >> 16) << 16;
    break;
  default:
    break;
  }
  if (instruction->destination_select != SELECT_DWORD)
    place_parts(wave, instruction, instruction->destination_select, instruction->destination_unused,
                value->word);
  else if (kind == 'H' || ((kind == 'h' || kind == 'w') && instruction->op_sel >> 3 & 1))
    place_parts(wave, instruction, SELECT_WORD_1, UNUSED_PRESERVE, value->word);
  else if (kind == 'L')
    place_parts(wave, instruction, SELECT_WORD_0, UNUSED_PRESERVE, value->word);
}

static bool is_pair(char kind) {
  return kind == 'q' || kind == 'd' || kind == 'P';
}

static void write_result(Wave *wave, const Instruction *instruction, char kind, uint64_t lanes,
                         LaneBuffer *value) {
  finish_result(wave, instruction, kind, value);
  int reg = instruction->operand[0].reg;
  if (!is_pair(kind)) {
    write_words(wave, reg, lanes, value->word);
    return;
  }
  uint32_t low[LANES], high[LANES];
  for (int lane = 0; lane < LANES; lane++) {
    low[lane] = (uint32_t)value->pair[lane];
    high[lane] = (uint32_t)(value->pair[lane] >> 32);
  }
  write_words(wave, reg, lanes, low);
  write_words(wave, reg + 1, lanes, high);
}

// A bit for each lane from a byte for each lane, eight at a time.
static uint64_t gather_flags(const uint8_t *flag) {
  uint64_t mask = 0;
  for (int i = 0; i < LANES / 8; i++) {
    uint64_t bytes;
    memcpy(&bytes, flag + 8 * i, sizeof bytes);
    mask |= (bytes * 0x0102040810204080 >> 56) << (8 * i);
  }
  return mask;
}

static bool run_operation(Wave *wave, const Instruction *instruction) {
  const VectorOperation *operation = instruction->vector;
  const char *form = operation->form;
  char kind = form[0];
  bool carry = form[1] == 'c';
  const char *sources = form + 2 + carry;
  LaneBuffer buffer[MAX_SOURCES], result;
  uint8_t flag[LANES];
  LaneValues values = {
      .result = &result, .flag = flag, .condition = instruction->condition, .clamp = instruction->clamp};
  int count = 0;
  for (; sources[count]; count++)
    values.source[count] =
        sources[count] == 'a'
            ? read_old(wave, instruction->operand[0].reg, kind, &buffer[count])
            : read_source(wave, instruction, count, 1 + carry + count, sources[count], &buffer[count]);
  // Functions of fewer sources may be given more, which they do not look at.
  for (; count < MAX_SOURCES; count++) values.source[count] = values.source[0];
  operation->run(&values);
  if (kind == 'm') {
    uint64_t mask = gather_flags(flag) & written_lanes(wave, instruction);
    set_scalar_pair(wave, instruction->operand[0].reg, mask);
    return true;
  }
  // The carry first: the result may not overwrite what it is computed from, but both are computed by now.
  if (carry) set_scalar_pair(wave, instruction->operand[1].reg, gather_flags(flag) & wave_exec(wave));
  write_result(wave, instruction, kind, written_lanes(wave, instruction), &result);
  return true;
}

// With the indexing mode on, M0 is added to the numbers of the registers that the mode names.
static bool run_indexed(Wave *wave, const Instruction *instruction) {
  Instruction shifted = *instruction;
  const char *form = instruction->vector->form;
  int first = form[1] == 'c' ? 2 : 1;
  unsigned index = wave->scalar[SCALAR_M0] & 0xff;
  for (int source = 0; source < 3 && first + source < shifted.operands; source++)
    if (wave->index_mode >> source & 1 && shifted.operand[first + source].kind == OPERAND_VECTOR)
      shifted.operand[first + source].reg = (uint16_t)(shifted.operand[first + source].reg + index);
  if (wave->index_mode >> 3 & 1 && shifted.operand[0].kind == OPERAND_VECTOR)
    shifted.operand[0].reg = (uint16_t)(shifted.operand[0].reg + index);
  for (int i = 0; i < shifted.operands; i++)
    if (shifted.operand[i].kind == OPERAND_VECTOR &&
        shifted.operand[i].reg + shifted.operand[i].words > 2 * ACCUMULATION_REGISTERS)
      return wave_fault(wave, instruction, "the indexed register does not exist");
  return run_operation(wave, &shifted);
}

static bool execute_vector(Wave *wave, const Instruction *instruction) {
  return wave->index_mode ? run_indexed(wave, instruction) : run_operation(wave, instruction);
}

static bool execute_compare_exec(Wave *wave, const Instruction *instruction) {
  run_operation(wave, instruction);
  set_scalar_pair(wave, SCALAR_EXEC, scalar_pair(wave, instruction->operand[0].reg));
  return true;
}

// Instructions between vector and scalar registers.

static bool execute_read_first_lane(Wave *wave, const Instruction *instruction) {
  uint64_t exec = wave_exec(wave);
  const Operand *source = &instruction->operand[1];
  int lane = exec ? __builtin_ctzll(exec) : 0;
  wave->scalar[instruction->operand[0].reg] =
      source->kind == OPERAND_VECTOR ? wave->vector[source->reg][lane] : wave_read32(wave, source);
  return true;
}

static bool execute_read_lane(Wave *wave, const Instruction *instruction) {
  unsigned lane = wave_read32(wave, &instruction->operand[2]) & 63;
  wave->scalar[instruction->operand[0].reg] = wave->vector[instruction->operand[1].reg][lane];
  return true;
}

static bool execute_write_lane(Wave *wave, const Instruction *instruction) {
  unsigned lane = wave_read32(wave, &instruction->operand[2]) & 63;
  wave->vector[instruction->operand[0].reg][lane] = wave_read32(wave, &instruction->operand[1]);
  return true;
}

static bool execute_swap(Wave *wave, const Instruction *instruction) {
  uint32_t *x = wave->vector[instruction->operand[0].reg], *y = wave->vector[instruction->operand[1].reg];
  for (uint64_t left = wave_exec(wave); left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    uint32_t kept = x[lane];
    x[lane] = y[lane];
    y[lane] = kept;
  }
  return true;
}

static const VectorOperation *find(const VectorOperation *operation, const char *name) {
  for (; operation->name; operation++)
    if (!strcmp(operation->name, name)) return operation;
  return NULL;
}

static bool compare_lookup(const char *name, Instruction *instruction) {
  char condition[8], type[16];
  bool exec = strncmp(name, "v_cmpx_", 7) == 0;
  if (!exec && strncmp(name, "v_cmp_", 6) != 0) return false;
  const char *rest = name + (exec ? 7 : 6);
  instruction->vector = find(compare_operations, rest);
  if (!instruction->vector) {
    if (sscanf(rest, "%7[a-z]_%15s", condition, type) != 2) return false;
    if (!compare_condition(condition, &instruction->condition)) return false;
    instruction->vector = find(compare_operations, type);
  }
  instruction->execute = exec ? execute_compare_exec : execute_vector;
  return instruction->vector != NULL;
}

// A packed instruction's operand that is one single, such as what a dot product is added to, is negated by
// neg_lo: it has no sign of its own in the text.
static void negate_singles(Instruction *instruction) {
  const char *sources = instruction->vector->form + 2;
  for (int i = 0; sources[i] && i + 1 < instruction->operands; i++)
    if (sources[i] == 'f' && instruction->neg_lo >> i & 1) instruction->operand[i + 1].negate = true;
}

bool vector_lookup(const char *name, Instruction *instruction) {
  static const struct {
    const char *name;
    Execute execute;
  } exchanges[] = {{"v_readfirstlane_b32", execute_read_first_lane},
                   {"v_readlane_b32", execute_read_lane},
                   {"v_writelane_b32", execute_write_lane},
                   {"v_swap_b32", execute_swap}};
  for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++)
    if (!strcmp(name, exchanges[i].name)) {
      instruction->execute = exchanges[i].execute;
      return true;
    }
  const VectorOperation *const tables[] = {integer_operations,   packed_operations, float_operations,
                                           double_operations,    half_operations,   packed_float_operations,
                                           conversion_operations};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    instruction->vector = find(tables[i], name);
    if (instruction->vector) {
      instruction->execute = execute_vector;
      if (tables[i] == packed_float_operations) negate_singles(instruction);
      return true;
    }
  }
  return compare_lookup(name, instruction);
}
