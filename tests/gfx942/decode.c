#include "decode.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disassemble.h"

enum { MAX_WORDS = 24 };

// An instruction's text, taken apart: a name, operands, and modifiers (words with a colon, and known flags).
typedef struct {
  char buffer[256];
  char *name;
  char *operand[MAX_WORDS];
  char *modifier[MAX_WORDS];
  int operands, modifiers;
} Text;

static bool starts(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_modifier(const char *word) {
  static const char *const flags[] = {"clamp", "sc0", "sc1", "nt",         "glc",
                                      "slc",   "gds", "lds", "row_mirror", "row_half_mirror"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (!strcmp(word, flags[i])) return true;
  // A colon inside brackets belongs to a range of registers.
  const char *end = strpbrk(word, ":[(");
  return end && *end == ':' && isalpha((unsigned char)word[0]);
}

static void split(Text *text) {
  char *at = text->buffer;
  char *comment = strstr(at, "//");
  if (comment) *comment = 0;
  while (isspace((unsigned char)*at)) at++;
  text->name = at;
  while (*at && !isspace((unsigned char)*at)) at++;
  while (*at) {
    while (isspace((unsigned char)*at) || *at == ',') *at++ = 0;
    char *word = at;
    for (int depth = 0; *at && (depth > 0 || (*at != ',' && !isspace((unsigned char)*at))); at++) {
      if (*at == '[' || *at == '(') depth++;
      if (*at == ']' || *at == ')') depth--;
    }
    if (at == word) break;
    if (*at) *at++ = 0;
    if (is_modifier(word)) {
      if (text->modifiers < MAX_WORDS) text->modifier[text->modifiers++] = word;
    } else if (text->operands < MAX_WORDS) {
      text->operand[text->operands++] = word;
    }
  }
}

// "3" or "[3:5]".
static void parse_range(const char *text, int *first, int *last) {
  if (*text == '[') {
    if (sscanf(text, "[%d:%d]", first, last) != 2) *first = *last = atoi(text + 1);
  } else {
    *first = *last = atoi(text);
  }
}

static bool parse_named(const char *text, Operand *operand) {
  static const struct {
    const char *name;
    OperandKind kind;
    uint16_t reg, words;
  } names[] = {
      {"vcc", OPERAND_SCALAR, SCALAR_VCC, 2},
      {"vcc_lo", OPERAND_SCALAR, SCALAR_VCC, 1},
      {"vcc_hi", OPERAND_SCALAR, SCALAR_VCC + 1, 1},
      {"exec", OPERAND_SCALAR, SCALAR_EXEC, 2},
      {"exec_lo", OPERAND_SCALAR, SCALAR_EXEC, 1},
      {"exec_hi", OPERAND_SCALAR, SCALAR_EXEC + 1, 1},
      {"m0", OPERAND_SCALAR, SCALAR_M0, 1},
      {"flat_scratch", OPERAND_SCALAR, SCALAR_FLAT_SCRATCH, 2},
      {"flat_scratch_lo", OPERAND_SCALAR, SCALAR_FLAT_SCRATCH, 1},
      {"flat_scratch_hi", OPERAND_SCALAR, SCALAR_FLAT_SCRATCH + 1, 1},
      {"xnack_mask", OPERAND_SCALAR, SCALAR_FLAT_SCRATCH + 2, 2},
      {"off", OPERAND_OFF, 0, 0},
      {"scc", OPERAND_SCC, 0, 0},
      {"src_scc", OPERAND_SCC, 0, 0},
      {"src_shared_base", OPERAND_SHARED_BASE, 0, 0},
      {"src_private_base", OPERAND_PRIVATE_BASE, 0, 0},
      {"src_vccz", OPERAND_VCCZ, 0, 0},
      {"src_execz", OPERAND_EXECZ, 0, 0},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(text, names[i].name)) {
      operand->kind = names[i].kind;
      operand->reg = names[i].reg;
      operand->words = names[i].words;
      return true;
    }
  return false;
}

static bool parse_register(const char *text, Operand *operand) {
  int first, last, base;
  if (starts(text, "ttmp")) {
    parse_range(text + 4, &first, &last);
    operand->kind = OPERAND_SCALAR;
    base = SCALAR_TTMP;
  } else if (strchr("vsa", text[0]) && (isdigit((unsigned char)text[1]) || text[1] == '[')) {
    parse_range(text + 1, &first, &last);
    operand->kind = text[0] == 's' ? OPERAND_SCALAR : OPERAND_VECTOR;
    base = text[0] == 'a' ? ACCUMULATION_REGISTERS : 0;
  } else {
    return false;
  }
  operand->reg = (uint16_t)(base + first);
  operand->words = (uint16_t)(last - first + 1);
  return first >= 0 && last >= first && last < (operand->kind == OPERAND_SCALAR ? SCALARS : 256);
}

static bool parse_number(const char *text, Operand *operand) {
  char *end;
  if (!starts(text, "0x") && strchr(text, '.')) {
    operand->kind = OPERAND_FLOAT;
    operand->real = strtod(text, &end);
    // The inline constant 1/(2*pi) is printed with fewer digits than it has.
    const double inverse_two_pi = 0.15915494309189532;
    if (starts(text, "0.15915494")) operand->real = inverse_two_pi;
    if (starts(text, "-0.15915494")) operand->real = -inverse_two_pi;
  } else {
    operand->kind = OPERAND_INTEGER;
    operand->integer = strtoll(text, &end, 0);
  }
  return end != text && *end == 0;
}

// gpr_idx(SRC0,DST): which operands the indexing mode shifts, as bits.
static bool parse_index_mode(const char *text, Operand *operand) {
  if (!starts(text, "gpr_idx(")) return false;
  operand->kind = OPERAND_INTEGER;
  operand->integer = (strstr(text, "SRC0") ? 1 : 0) | (strstr(text, "SRC1") ? 2 : 0) |
                     (strstr(text, "SRC2") ? 4 : 0) | (strstr(text, "DST") ? 8 : 0);
  return true;
}

static bool parse_operand(char *text, Operand *operand) {
  // Modifiers may be nested: -|v0|, neg(v0), sext(v0).
  for (;;) {
    size_t length = strlen(text);
    if (length == 0) return false;
    if (starts(text, "neg(") || starts(text, "abs(")) {
      *(text[0] == 'n' ? &operand->negate : &operand->absolute) = true;
      text[length - 1] = 0;
      text += 4;
    } else if (starts(text, "sext(")) {
      operand->sign_extend = true;
      text[length - 1] = 0;
      text += 5;
    } else if (text[0] == '-' && !isdigit((unsigned char)text[1])) {
      operand->negate = true;
      text++;
    } else if (text[0] == '|') {
      operand->absolute = true;
      text[length - 1] = 0;
      text++;
    } else {
      break;
    }
  }
  return parse_named(text, operand) || parse_index_mode(text, operand) || parse_register(text, operand) ||
         parse_number(text, operand);
}

// "[1,0,1]" as bits, the first in bit 0.
static uint8_t parse_bits(const char *text) {
  unsigned bits = 0, bit = 1;
  for (; *text && *text != ']'; text++)
    if (isdigit((unsigned char)*text)) {
      if (*text == '1') bits |= bit;
      bit <<= 1;
    }
  return (uint8_t)bits;
}

static Select parse_select(const char *text) {
  if (starts(text, "BYTE_")) return SELECT_BYTE_0 + (Select)(text[5] - '0');
  if (starts(text, "WORD_")) return SELECT_WORD_0 + (Select)(text[5] - '0');
  return SELECT_DWORD;
}

// ds_swizzle's offset written out as the pattern that it encodes.
static bool parse_swizzle(const char *text, int32_t *offset) {
  int a, b, c, d;
  if (sscanf(text, "SWAP,%d", &a) == 1) {
    *offset = a << 10 | 31;
  } else if (sscanf(text, "REVERSE,%d", &a) == 1) {
    *offset = (a - 1) << 10 | 31;
  } else if (sscanf(text, "BROADCAST,%d,%d", &a, &b) == 2) {
    *offset = b << 5 | (32 - a);
  } else if (sscanf(text, "QUAD_PERM,%d,%d,%d,%d", &a, &b, &c, &d) == 4) {
    *offset = 0x8000 | a | b << 2 | c << 4 | d << 6;
  } else if (starts(text, "BITMASK_PERM,")) {
    // Five letters, the highest bit of the lane number first: keep, invert, or fix it.
    int and = 0, or = 0, xor = 0;
    const char *letter = strchr(text, '"');
    letter = letter ? letter + 1 : text + strlen("BITMASK_PERM,");
    for (int bit = 4; bit >= 0; bit--, letter++) {
      if (!*letter || !strchr("01pi", *letter)) return false;
      if (*letter == 'p' || *letter == 'i') and |= 1 << bit;
      if (*letter == 'i') xor |= 1 << bit;
      if (*letter == '1') or |= 1 << bit;
    }
    *offset = xor << 10 | or << 5 | and;
  } else {
    return false;
  }
  return true;
}

static int quad_lane(int lane, const int select[4]) {
  return (lane & ~3) | select[lane & 3];
}

// Data-parallel primitives: fills the table of the lane that each lane reads. False when it is no such
// modifier.
static bool parse_dpp(const char *text, Instruction *instruction) {
  int select[4] = {0};
  const char *colon = strchr(text, ':');
  int amount = colon ? atoi(colon + 1) : 0;
  bool quad = starts(text, "quad_perm:");
  if (quad && sscanf(text, "quad_perm:[%d,%d,%d,%d]", &select[0], &select[1], &select[2], &select[3]) != 4)
    return false;
  for (int lane = 0; lane < LANES; lane++) {
    int row = lane & ~15, column = lane & 15, from;
    if (quad)
      from = quad_lane(lane, select);
    else if (starts(text, "row_shl:"))
      from = column + amount < 16 ? lane + amount : -1;
    else if (starts(text, "row_shr:"))
      from = column >= amount ? lane - amount : -1;
    else if (starts(text, "row_ror:"))
      from = row | ((column - amount) & 15);
    else if (!strcmp(text, "row_mirror"))
      from = row | (15 - column);
    else if (!strcmp(text, "row_half_mirror"))
      from = (lane & ~7) | (7 - (lane & 7));
    else if (starts(text, "row_bcast:"))
      from = amount == 15 ? row - 1 : lane >= 32 ? 31 : -1;
    else if (starts(text, "row_newbcast:"))
      from = row | amount;
    else if (starts(text, "wave_shl:"))
      from = lane < 63 ? lane + 1 : -1;
    else if (starts(text, "wave_shr:"))
      from = lane - 1;
    else if (starts(text, "wave_rol:"))
      from = (lane + 1) & 63;
    else if (starts(text, "wave_ror:"))
      from = (lane - 1) & 63;
    else
      return false;
    instruction->dpp_lane[lane] = (int8_t)from;
  }
  instruction->dpp = true;
  return true;
}

static bool parse_modifier(const char *text, Instruction *instruction) {
  const char *colon = strchr(text, ':');
  const char *value = colon ? colon + 1 : "";
  long number = strtol(value, NULL, 0);
  if (!strcmp(text, "clamp")) {
    instruction->clamp = true;
  } else if (!strcmp(text, "sc0") || !strcmp(text, "glc")) {
    instruction->sc0 = true;
  } else if (!strcmp(text, "sc1") || !strcmp(text, "nt") || !strcmp(text, "slc")) {
    // Cache policies change nothing in a memory without caches.
  } else if (starts(text, "mul:")) {
    instruction->output_scale = (float)number;
  } else if (starts(text, "div:")) {
    instruction->output_scale = 0.5f;
  } else if (starts(text, "offset:swizzle(")) {
    return parse_swizzle(text + strlen("offset:swizzle("), &instruction->offset);
  } else if (starts(text, "offset:")) {
    instruction->offset = (int32_t)number;
  } else if (starts(text, "offset0:")) {
    instruction->offset0 = (int32_t)number;
  } else if (starts(text, "offset1:")) {
    instruction->offset1 = (int32_t)number;
  } else if (starts(text, "op_sel:")) {
    instruction->op_sel = parse_bits(value);
  } else if (starts(text, "op_sel_hi:")) {
    instruction->op_sel_hi = parse_bits(value);
  } else if (starts(text, "neg_lo:")) {
    instruction->neg_lo = parse_bits(value);
  } else if (starts(text, "neg_hi:")) {
    instruction->neg_hi = parse_bits(value);
  } else if (starts(text, "dst_sel:")) {
    instruction->destination_select = parse_select(value);
  } else if (starts(text, "dst_unused:")) {
    instruction->destination_unused = strstr(value, "PRESERVE") ? UNUSED_PRESERVE
                                      : strstr(value, "SEXT")   ? UNUSED_SEXT
                                                                : UNUSED_PAD;
  } else if (starts(text, "src0_sel:")) {
    instruction->source_select[0] = parse_select(value);
  } else if (starts(text, "src1_sel:")) {
    instruction->source_select[1] = parse_select(value);
  } else if (starts(text, "row_mask:")) {
    instruction->row_mask = (uint8_t)number;
  } else if (starts(text, "bank_mask:")) {
    instruction->bank_mask = (uint8_t)number;
  } else if (starts(text, "bound_ctrl:")) {
    instruction->bound_control = true;
  } else {
    return parse_dpp(text, instruction);
  }
  return true;
}

// op_sel_hi where it is not written: the disassembler leaves the default out, which is the high half for the
// high result of packed instructions, but single precision, no half at all, for those that mix the two.
static uint8_t default_op_sel_hi(const char *name) {
  return starts(name, "v_fma_mix") ? 0 : 7;
}

// The bit of op_sel for the destination follows those of the sources, however many they are, and is kept in
// bit 3.
static uint8_t with_destination_in_bit_3(uint8_t op_sel, int sources) {
  if (sources < 1 || sources > 2) return op_sel;
  unsigned destination = op_sel >> sources & 1u;
  return (uint8_t)((op_sel & ((1u << sources) - 1)) | destination << 3);
}

static void strip_encoding(char *name) {
  static const char *const suffixes[] = {"_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t suffix = strlen(suffixes[i]);
    if (length > suffix && !strcmp(name + length - suffix, suffixes[i])) {
      name[length - suffix] = 0;
      return;
    }
  }
}

static bool execute_nothing(Wave *wave, const Instruction *instruction) {
  (void)wave;
  (void)instruction;
  return true;
}

// Instructions without an effect here: waits, hints, caches, modes of rounding.
static bool does_nothing(const char *name) {
  static const char *const prefixes[] = {
      "s_waitcnt",   "s_nop",    "s_sleep",      "s_setprio",       "s_sethalt",      "s_icache",
      "s_dcache",    "s_setreg", "s_sendmsg",    "s_inst_prefetch", "v_nop",          "buffer_inv",
      "buffer_wbl2", "ds_nop",   "s_ttracedata", "v_clrexcp",       "s_incperflevel", "s_decperflevel"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (starts(name, prefixes[i])) return true;
  return false;
}

static bool refuse(const Instruction *instruction, const char *what, char *error, size_t error_size) {
  snprintf(error, error_size, "%s: '%s' at pc %#llx", what, instruction->text,
           (unsigned long long)instruction->pc);
  return false;
}

bool decode_instruction(uint64_t pc, Instruction *instruction, char *error, size_t error_size) {
  Text text = {0};
  *instruction = (Instruction){.pc = pc, .row_mask = 15, .bank_mask = 15, .output_scale = 1.f};
  if (!disassemble(pc, text.buffer, sizeof text.buffer, &instruction->size, error, error_size)) return false;
  split(&text);
  // split() has put the ends of the words in the buffer: write the text anew from its parts.
  size_t length = (size_t)snprintf(instruction->text, sizeof instruction->text, "%s", text.name);
  for (int i = 0; i < text.operands && length < sizeof instruction->text; i++)
    length += (size_t)snprintf(instruction->text + length, sizeof instruction->text - length, "%s %s",
                               i ? "," : "", text.operand[i]);
  for (int i = 0; i < text.modifiers && length < sizeof instruction->text; i++)
    length += (size_t)snprintf(instruction->text + length, sizeof instruction->text - length, " %s",
                               text.modifier[i]);

  if (does_nothing(text.name)) {
    instruction->execute = execute_nothing;
    return true;
  }
  instruction->op_sel_hi = default_op_sel_hi(text.name);
  for (int i = 0; i < text.modifiers; i++)
    if (!parse_modifier(text.modifier[i], instruction))
      return refuse(instruction, "unknown modifier", error, error_size);
  instruction->op_sel = with_destination_in_bit_3(instruction->op_sel, text.operands - 1);
  // The hardware register of s_getreg is no operand that is read: every one of them reads as zero.
  if (starts(text.name, "s_getreg")) text.operands = 1;
  if (text.operands > MAX_OPERANDS) return refuse(instruction, "too many operands", error, error_size);
  for (int i = 0; i < text.operands; i++)
    if (!parse_operand(text.operand[i], &instruction->operand[i]))
      return refuse(instruction, "unknown operand", error, error_size);
  instruction->operands = text.operands;
  strip_encoding(text.name);
  if (scalar_lookup(text.name, instruction) || vector_lookup(text.name, instruction) ||
      memory_lookup(text.name, instruction) || lds_lookup(text.name, instruction))
    return true;
  return refuse(instruction, "unknown instruction", error, error_size);
}
