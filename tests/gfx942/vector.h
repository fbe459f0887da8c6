// Vector instructions: how their operands reach the functions that compute them, for all lanes at a time.
#ifndef GFX942_VECTOR_H
#define GFX942_VECTOR_H

#include "wave.h"

// A lane's value as the functions see it. Registers hold plain words, hence may_alias.
typedef uint32_t __attribute__((may_alias)) u32;
typedef int32_t __attribute__((may_alias)) i32;
typedef float __attribute__((may_alias)) f32;
typedef uint64_t __attribute__((may_alias)) u64;
typedef int64_t __attribute__((may_alias)) i64;
typedef double __attribute__((may_alias)) f64;

typedef struct {
  void *result;  // LANES values
  uint8_t *flag; // LANES values, 0 or 1: comparisons and carries
  const void *source[MAX_SOURCES];
  uint8_t condition;
  bool clamp;
} LaneValues;

// An instruction's form says what it reads and writes: "result=sources", a letter for each.
//
//   u  32 bits                               q  64 bits, a pair of registers
//   f  single precision                      d  double precision
//   h  half: a float as source, bits as result (op_sel picks the half of the register)
//   w  16-bit integer, zero-extended         p  two 16-bit integers in a word (op_sel, op_sel_hi)
//   r  two halves in a word (also neg_lo, neg_hi)
//   P  two singles in a pair of registers    x  single or half, as op_sel_hi says: a float
//   m  a bit for each lane in a scalar pair: as source 0 or 1; as first result it is the flags
//
// Results only: c before '=' adds flags to the second operand; L and H write half a register and keep the
// rest. Sources only: a is the destination's old value, in the result's kind.
struct VectorOperation {
  const char *name, *form;
  void (*run)(const LaneValues *values);
};

// Functions are compiled for the processors of today (with AVX2, FMA and F16C) too and chosen when the
// program starts. No contraction of multiplications and additions is allowed in either, so that their results
// are the same.
#if defined(__x86_64__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

// Definitions of such functions from an expression in x, y, z and the lane's number.
#define LANES1(name, Result, X, expression)                       \
  FOR_EACH_PROCESSOR static void name(const LaneValues *values) { \
    Result *restrict result = values->result;                     \
    const X *restrict source_x = values->source[0];               \
    for (int lane = 0; lane < LANES; lane++) {                    \
      const X x = source_x[lane];                                 \
      result[lane] = (Result)(expression);                        \
    }                                                             \
  }

#define LANES2(name, Result, X, Y, expression)                    \
  FOR_EACH_PROCESSOR static void name(const LaneValues *values) { \
    Result *restrict result = values->result;                     \
    const X *restrict source_x = values->source[0];               \
    const Y *restrict source_y = values->source[1];               \
    for (int lane = 0; lane < LANES; lane++) {                    \
      const X x = source_x[lane];                                 \
      const Y y = source_y[lane];                                 \
      result[lane] = (Result)(expression);                        \
    }                                                             \
  }

#define LANES3(name, Result, X, Y, Z, expression)                 \
  FOR_EACH_PROCESSOR static void name(const LaneValues *values) { \
    Result *restrict result = values->result;                     \
    const X *restrict source_x = values->source[0];               \
    const Y *restrict source_y = values->source[1];               \
    const Z *restrict source_z = values->source[2];               \
    for (int lane = 0; lane < LANES; lane++) {                    \
      const X x = source_x[lane];                                 \
      const Y y = source_y[lane];                                 \
      const Z z = source_z[lane];                                 \
      result[lane] = (Result)(expression);                        \
    }                                                             \
  }

static inline float half_to_float(uint32_t bits) {
  uint16_t low = (uint16_t)bits;
  _Float16 value;
  __builtin_memcpy(&value, &low, sizeof value);
  return (float)value;
}

// A double holds the exact result of any one operation on halves; the conversion rounds it once.
static inline uint32_t half_bits(double exact) {
  _Float16 value = (_Float16)exact;
  uint16_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// For one sum, product, quotient or root of halves: single precision has bits enough that rounding twice is
// harmless.
static inline uint32_t half_bits_from_single(float once_rounded) {
  _Float16 value = (_Float16)once_rounded;
  uint16_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline uint32_t float_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float bits_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Tables of the operations, each ended by an entry without a name.
extern const VectorOperation integer_operations[], packed_operations[], float_operations[],
    double_operations[], half_operations[], packed_float_operations[], conversion_operations[],
    compare_operations[];

// Relations that satisfy the condition of a comparison such as "nlt". False when there is no such condition.
bool compare_condition(const char *name, uint8_t *condition);

#endif
