// Atomic operations on memory that other host threads may use at the same time.
#include <math.h>
#include <string.h>

#include "memory.h"

static float to_f32(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}

static uint64_t from_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double to_f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t from_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint16_t add_f16(uint16_t x, uint16_t y) {
  _Float16 a, b;
  memcpy(&a, &x, sizeof a);
  memcpy(&b, &y, sizeof b);
  // The sum of two halves is exact in single precision, so that it is rounded once.
  a = (_Float16)((float)a + (float)b);
  memcpy(&x, &a, sizeof x);
  return x;
}

static uint16_t add_bf16(uint16_t x, uint16_t y) {
  uint32_t sum = (uint32_t)from_f32(to_f32((uint32_t)x << 16) + to_f32((uint32_t)y << 16));
  if ((sum & 0x7fffffff) > 0x7f800000) return (uint16_t)(sum >> 16 | 0x40); // a NaN stays one
  return (uint16_t)((sum + 0x7fff + (sum >> 16 & 1)) >> 16);                // to nearest, ties to even
}

static uint64_t packed(uint64_t x, uint64_t y, uint16_t (*add)(uint16_t, uint16_t)) {
  return add((uint16_t)x, (uint16_t)y) | (uint64_t)add((uint16_t)(x >> 16), (uint16_t)(y >> 16)) << 16;
}

static int64_t as_signed(uint64_t value, int bytes) {
  return bytes == 4 ? (int32_t)value : (int64_t)value;
}

// What the operation leaves in memory that held `old`.
static uint64_t combine(Atomic atomic, int bytes, uint64_t old, uint64_t x, uint64_t compare) {
  bool less = as_signed(x, bytes) < as_signed(old, bytes), word = bytes == 4;
  switch (atomic) {
  case ATOMIC_ADD:
    return old + x;
  case ATOMIC_SUB:
    return old - x;
  case ATOMIC_SWAP:
    return x;
  case ATOMIC_COMPARE_SWAP:
    return old == compare ? x : old;
  case ATOMIC_SIGNED_MIN:
    return less ? x : old;
  case ATOMIC_SIGNED_MAX:
    return less ? old : x;
  case ATOMIC_UNSIGNED_MIN:
    return x < old ? x : old;
  case ATOMIC_UNSIGNED_MAX:
    return x > old ? x : old;
  case ATOMIC_AND:
    return old & x;
  case ATOMIC_OR:
    return old | x;
  case ATOMIC_XOR:
    return old ^ x;
  case ATOMIC_INCREMENT:
    return old >= x ? 0 : old + 1;
  case ATOMIC_DECREMENT:
    return old == 0 || old > x ? x : old - 1;
  case ATOMIC_FLOAT_ADD:
    return word ? from_f32(to_f32(old) + to_f32(x)) : from_f64(to_f64(old) + to_f64(x));
  case ATOMIC_FLOAT_MIN:
    return word ? from_f32(fminf(to_f32(old), to_f32(x))) : from_f64(fmin(to_f64(old), to_f64(x)));
  case ATOMIC_FLOAT_MAX:
    return word ? from_f32(fmaxf(to_f32(old), to_f32(x))) : from_f64(fmax(to_f64(old), to_f64(x)));
  case ATOMIC_PACKED_F16_ADD:
    return packed(old, x, add_f16);
  case ATOMIC_PACKED_BF16_ADD:
    return packed(old, x, add_bf16);
  case ATOMIC_NONE:
    break;
  }
  return old;
}

uint64_t atomic_operation(Atomic atomic, int bytes, void *address, uint64_t operand, uint64_t compare) {
  if (bytes == 4) {
    uint32_t *word = address, old = __atomic_load_n(word, __ATOMIC_RELAXED), new;
    do new = (uint32_t)combine(atomic, bytes, old, (uint32_t)operand, (uint32_t)compare);
    while (!__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return old;
  }
  uint64_t *word = address, old = __atomic_load_n(word, __ATOMIC_RELAXED), new;
  do new = combine(atomic, bytes, old, operand, compare);
  while (!__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return old;
}

bool atomic_lookup(const char *name, Atomic *atomic, int *bytes) {
  // Names of global and flat memory first, then those of LDS.
  static const struct {
    const char *name;
    Atomic atomic;
    uint8_t bytes;
  } names[] = {
      {"add", ATOMIC_ADD, 4},
      {"add_x2", ATOMIC_ADD, 8},
      {"sub", ATOMIC_SUB, 4},
      {"sub_x2", ATOMIC_SUB, 8},
      {"swap", ATOMIC_SWAP, 4},
      {"swap_x2", ATOMIC_SWAP, 8},
      {"cmpswap", ATOMIC_COMPARE_SWAP, 4},
      {"cmpswap_x2", ATOMIC_COMPARE_SWAP, 8},
      {"smin", ATOMIC_SIGNED_MIN, 4},
      {"smin_x2", ATOMIC_SIGNED_MIN, 8},
      {"umin", ATOMIC_UNSIGNED_MIN, 4},
      {"umin_x2", ATOMIC_UNSIGNED_MIN, 8},
      {"smax", ATOMIC_SIGNED_MAX, 4},
      {"smax_x2", ATOMIC_SIGNED_MAX, 8},
      {"umax", ATOMIC_UNSIGNED_MAX, 4},
      {"umax_x2", ATOMIC_UNSIGNED_MAX, 8},
      {"and", ATOMIC_AND, 4},
      {"and_x2", ATOMIC_AND, 8},
      {"or", ATOMIC_OR, 4},
      {"or_x2", ATOMIC_OR, 8},
      {"xor", ATOMIC_XOR, 4},
      {"xor_x2", ATOMIC_XOR, 8},
      {"inc", ATOMIC_INCREMENT, 4},
      {"inc_x2", ATOMIC_INCREMENT, 8},
      {"dec", ATOMIC_DECREMENT, 4},
      {"dec_x2", ATOMIC_DECREMENT, 8},
      {"add_f32", ATOMIC_FLOAT_ADD, 4},
      {"add_f64", ATOMIC_FLOAT_ADD, 8},
      {"min_f64", ATOMIC_FLOAT_MIN, 8},
      {"max_f64", ATOMIC_FLOAT_MAX, 8},
      {"pk_add_f16", ATOMIC_PACKED_F16_ADD, 4},
      {"pk_add_bf16", ATOMIC_PACKED_BF16_ADD, 4},

      {"add_u32", ATOMIC_ADD, 4},
      {"add_u64", ATOMIC_ADD, 8},
      {"sub_u32", ATOMIC_SUB, 4},
      {"sub_u64", ATOMIC_SUB, 8},
      {"wrxchg_b32", ATOMIC_SWAP, 4},
      {"wrxchg_b64", ATOMIC_SWAP, 8},
      {"cmpst_b32", ATOMIC_COMPARE_SWAP, 4},
      {"cmpst_b64", ATOMIC_COMPARE_SWAP, 8},
      {"min_i32", ATOMIC_SIGNED_MIN, 4},
      {"min_i64", ATOMIC_SIGNED_MIN, 8},
      {"min_u32", ATOMIC_UNSIGNED_MIN, 4},
      {"min_u64", ATOMIC_UNSIGNED_MIN, 8},
      {"min_f32", ATOMIC_FLOAT_MIN, 4},
      {"max_i32", ATOMIC_SIGNED_MAX, 4},
      {"max_i64", ATOMIC_SIGNED_MAX, 8},
      {"max_u32", ATOMIC_UNSIGNED_MAX, 4},
      {"max_u64", ATOMIC_UNSIGNED_MAX, 8},
      {"max_f32", ATOMIC_FLOAT_MAX, 4},
      {"and_b32", ATOMIC_AND, 4},
      {"and_b64", ATOMIC_AND, 8},
      {"or_b32", ATOMIC_OR, 4},
      {"or_b64", ATOMIC_OR, 8},
      {"xor_b32", ATOMIC_XOR, 4},
      {"xor_b64", ATOMIC_XOR, 8},
      {"inc_u32", ATOMIC_INCREMENT, 4},
      {"inc_u64", ATOMIC_INCREMENT, 8},
      {"dec_u32", ATOMIC_DECREMENT, 4},
      {"dec_u64", ATOMIC_DECREMENT, 8},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i].name)) {
      *atomic = names[i].atomic;
      *bytes = names[i].bytes;
      return true;
    }
  return false;
}
