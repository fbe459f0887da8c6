// One machine instruction of gfx942 in the form that the interpreter runs, and how it is made: from the text
// that AMD's disassembler gives for the bytes at an address.
#ifndef GFX942_DECODE_H
#define GFX942_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 64, ACCUMULATION_REGISTERS = 256, MAX_OPERANDS = 6, MAX_SOURCES = 4 };

// Scalar registers with a name of their own. All scalar operands are indices in one array.
enum {
  SCALAR_FLAT_SCRATCH = 102,
  SCALAR_VCC = 106,
  SCALAR_TTMP = 108,
  SCALAR_M0 = 124,
  SCALAR_EXEC = 126,
  SCALARS = 128
};

typedef enum {
  OPERAND_NONE,
  OPERAND_VECTOR, // accumulation registers follow the ordinary ones
  OPERAND_SCALAR,
  OPERAND_INTEGER,
  OPERAND_FLOAT,
  OPERAND_OFF, // "off": no register
  OPERAND_SCC,
  OPERAND_SHARED_BASE,
  OPERAND_PRIVATE_BASE,
  OPERAND_VCCZ,
  OPERAND_EXECZ,
} OperandKind;

typedef struct {
  OperandKind kind;
  bool negate, absolute, sign_extend;
  uint16_t reg;
  uint16_t words; // registers that it spans
  int64_t integer;
  double real;
} Operand;

// Part of a 32-bit register that an SDWA operand means.
typedef enum {
  SELECT_DWORD,
  SELECT_BYTE_0,
  SELECT_BYTE_1,
  SELECT_BYTE_2,
  SELECT_BYTE_3,
  SELECT_WORD_0,
  SELECT_WORD_1
} Select;
typedef enum { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE } Unused;

typedef enum { SPACE_GLOBAL, SPACE_FLAT, SPACE_SCRATCH, SPACE_LDS } Space;
typedef enum { HALF_WHOLE, HALF_LOW, HALF_HIGH } Half; // part of the register that a d16 access moves

typedef enum {
  ATOMIC_NONE,
  ATOMIC_ADD,
  ATOMIC_SUB,
  ATOMIC_SWAP,
  ATOMIC_COMPARE_SWAP,
  ATOMIC_SIGNED_MIN,
  ATOMIC_UNSIGNED_MIN,
  ATOMIC_SIGNED_MAX,
  ATOMIC_UNSIGNED_MAX,
  ATOMIC_AND,
  ATOMIC_OR,
  ATOMIC_XOR,
  ATOMIC_INCREMENT,
  ATOMIC_DECREMENT,
  ATOMIC_FLOAT_ADD,
  ATOMIC_FLOAT_MIN,
  ATOMIC_FLOAT_MAX,
  ATOMIC_PACKED_F16_ADD,
  ATOMIC_PACKED_BF16_ADD,
} Atomic;

// What a memory instruction moves for each lane.
typedef struct {
  Space space;
  Atomic atomic;
  bool store, sign_extend, returns;
  Half half;
  uint8_t bytes;        // per element: 1, 2, or 4 * words
  uint8_t words;        // registers that hold the element
  uint16_t pair_stride; // LDS accesses of two elements: what their offsets count, in bytes; 0 for one element
} MemoryShape;

typedef struct Wave Wave;
typedef struct Instruction Instruction;
typedef struct VectorOperation VectorOperation;
typedef struct ScalarOperation ScalarOperation;

// Runs one instruction. False when it faulted; the workgroup's fault text then says how.
typedef bool (*Execute)(Wave *wave, const Instruction *instruction);

struct Instruction {
  Execute execute;
  uint64_t pc;
  uint32_t size;
  int operands;
  Operand operand[MAX_OPERANDS];

  // Modifiers, as written after the operands.
  int32_t offset, offset0, offset1;
  bool clamp, sc0;
  float output_scale;                          // 1, or what mul:2, mul:4 or div:2 ask for
  uint8_t op_sel, op_sel_hi, neg_lo, neg_hi;   // a bit for each source; op_sel has the destination's in bit 3
  Select source_select[2], destination_select; // SDWA
  Unused destination_unused;
  bool dpp, bound_control;
  uint8_t row_mask, bank_mask;
  int8_t dpp_lane[LANES]; // the lane that each lane reads, or -1

  // What the families of instructions keep for themselves.
  const VectorOperation *vector;
  const ScalarOperation *scalar;
  MemoryShape memory;
  uint8_t condition; // comparisons: the relations that satisfy it
  char text[160];
};

// Relations between two values, for comparisons: a condition is the set of relations that satisfy it.
enum { RELATION_LESS = 1, RELATION_EQUAL = 2, RELATION_GREATER = 4, RELATION_UNORDERED = 8 };

// Decodes the instruction at an address of this process. False, with the reason in `error`, when it is not
// known.
bool decode_instruction(uint64_t pc, Instruction *instruction, char *error, size_t error_size);

// The families: true when `name` (without the suffix of its encoding) is theirs and the instruction is set
// up.
bool scalar_lookup(const char *name, Instruction *instruction);
bool vector_lookup(const char *name, Instruction *instruction);
bool memory_lookup(const char *name, Instruction *instruction); // global, flat, scratch and scalar loads
bool lds_lookup(const char *name, Instruction *instruction);

#endif
