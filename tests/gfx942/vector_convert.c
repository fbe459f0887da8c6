// Conversions between kinds of numbers, and comparisons.
#include <math.h>
#include <string.h>

#include "vector.h"

// To the nearest value that the type holds; a NaN gives zero.
static inline int32_t saturate_signed(double x) {
  return x != x ? 0 : x <= -2147483648. ? INT32_MIN : x >= 2147483647. ? INT32_MAX : (int32_t)x;
}

static inline uint32_t saturate_unsigned(double x) {
  return x >= 4294967295. ? UINT32_MAX : x > 0 ? (uint32_t)x : 0;
}

static inline int32_t saturate_to(float x, int low, int high) {
  return x != x ? 0 : x <= (float)low ? low : x >= (float)high ? high : (int32_t)x;
}

static inline int32_t normalized(float x, int low, int high) {
  return saturate_to(rintf(x * (float)high), low, high);
}

// Towards zero: what rounding to nearest has made too large becomes the next smaller half.
static inline uint32_t half_toward_zero(float x) {
  uint32_t bits = half_bits_from_single(x);
  return fabsf(half_to_float(bits)) > fabsf(x) ? bits - 1 : bits;
}

static inline uint32_t insert_byte(float x, uint32_t position, uint32_t into) {
  int shift = 8 * (position & 3);
  return (into & ~(255u << shift)) | (uint32_t)saturate_to(rintf(x), 0, 255) << shift;
}

LANES1(v_cvt_f32_i32, f32, i32, x)
LANES1(v_cvt_f32_u32, f32, u32, x)
LANES1(v_cvt_i32_f32, u32, f32, saturate_signed(x))
LANES1(v_cvt_u32_f32, u32, f32, saturate_unsigned(x))
LANES1(v_cvt_flr_i32_f32, u32, f32, saturate_signed(floor(x)))
LANES1(v_cvt_rpi_i32_f32, u32, f32, saturate_signed(floor((double)x + .5)))
LANES1(v_cvt_f32_ubyte0, f32, u32, x & 255)
LANES1(v_cvt_f32_ubyte1, f32, u32, x >> 8 & 255)
LANES1(v_cvt_f32_ubyte2, f32, u32, x >> 16 & 255)
LANES1(v_cvt_f32_ubyte3, f32, u32, x >> 24)
LANES1(v_cvt_off_f32_i4, f32, u32, (float)((int32_t)(x << 28) >> 28) / 16.f)
LANES1(v_cvt_f64_f32, f64, f32, x)
LANES1(v_cvt_f32_f64, f32, f64, x)
LANES1(v_cvt_f64_i32, f64, i32, x)
LANES1(v_cvt_f64_u32, f64, u32, x)
LANES1(v_cvt_i32_f64, u32, f64, saturate_signed(x))
LANES1(v_cvt_u32_f64, u32, f64, saturate_unsigned(x))
LANES1(v_cvt_f16_f32, u32, f32, half_bits_from_single(x))
LANES1(v_cvt_f32_f16, f32, f32, x)
LANES1(v_cvt_f16_u16, u32, u32, half_bits_from_single((float)x))
LANES1(v_cvt_f16_i16, u32, u32, half_bits_from_single((float)(int16_t)x))
LANES1(v_cvt_u16_f16, u32, f32, saturate_to(x, 0, UINT16_MAX))
LANES1(v_cvt_i16_f16, u32, f32, saturate_to(x, INT16_MIN, INT16_MAX))
LANES1(v_cvt_norm_u16_f16, u32, f32, normalized(x, 0, UINT16_MAX))
LANES1(v_cvt_norm_i16_f16, u32, f32, normalized(x, -INT16_MAX, INT16_MAX))
LANES2(v_cvt_pkrtz_f16_f32, u32, f32, f32, half_toward_zero(x) | half_toward_zero(y) << 16)
LANES2(v_cvt_pknorm_u16_f32, u32, f32, f32,
       (uint32_t)normalized(x, 0, UINT16_MAX) | (uint32_t)normalized(y, 0, UINT16_MAX) << 16)
LANES2(v_cvt_pknorm_i16_f32, u32, f32, f32,
       ((uint32_t)normalized(x, -INT16_MAX, INT16_MAX) & 0xffff) |
           (uint32_t)normalized(y, -INT16_MAX, INT16_MAX) << 16)
LANES3(v_cvt_pk_u8_f32, u32, f32, u32, u32, insert_byte(x, y, z))
LANES2(v_pack_b32_f16, u32, u32, u32, (x & 0xffff) | y << 16)

#define ENTRY(name, form) \
  { #name, form, name }

const VectorOperation conversion_operations[] = {
    ENTRY(v_cvt_f32_i32, "f=u"),
    ENTRY(v_cvt_f32_u32, "f=u"),
    ENTRY(v_cvt_i32_f32, "u=f"),
    ENTRY(v_cvt_u32_f32, "u=f"),
    ENTRY(v_cvt_flr_i32_f32, "u=f"),
    ENTRY(v_cvt_rpi_i32_f32, "u=f"),
    ENTRY(v_cvt_f32_ubyte0, "f=u"),
    ENTRY(v_cvt_f32_ubyte1, "f=u"),
    ENTRY(v_cvt_f32_ubyte2, "f=u"),
    ENTRY(v_cvt_f32_ubyte3, "f=u"),
    ENTRY(v_cvt_off_f32_i4, "f=u"),
    ENTRY(v_cvt_f64_f32, "d=f"),
    ENTRY(v_cvt_f32_f64, "f=d"),
    ENTRY(v_cvt_f64_i32, "d=u"),
    ENTRY(v_cvt_f64_u32, "d=u"),
    ENTRY(v_cvt_i32_f64, "u=d"),
    ENTRY(v_cvt_u32_f64, "u=d"),
    ENTRY(v_cvt_f16_f32, "h=f"),
    ENTRY(v_cvt_f32_f16, "f=h"),
    ENTRY(v_cvt_f16_u16, "h=w"),
    ENTRY(v_cvt_f16_i16, "h=w"),
    ENTRY(v_cvt_u16_f16, "w=h"),
    ENTRY(v_cvt_i16_f16, "w=h"),
    ENTRY(v_cvt_norm_u16_f16, "w=h"),
    ENTRY(v_cvt_norm_i16_f16, "w=h"),
    ENTRY(v_cvt_pkrtz_f16_f32, "u=ff"),
    ENTRY(v_cvt_pknorm_u16_f32, "u=ff"),
    ENTRY(v_cvt_pknorm_i16_f32, "u=ff"),
    {"v_cvt_pknorm_u16_f16", "u=hh", v_cvt_pknorm_u16_f32},
    {"v_cvt_pknorm_i16_f16", "u=hh", v_cvt_pknorm_i16_f32},
    ENTRY(v_cvt_pk_u8_f32, "u=fuu"),
    ENTRY(v_pack_b32_f16, "u=ww"),
    {0},
};

// Comparisons: exactly one relation holds between two values, and the condition is the set of those that
// satisfy it.
#define COMPARE(name, Type, Read)                                               \
  FOR_EACH_PROCESSOR static void name(const LaneValues *values) {               \
    const Type *source_x = values->source[0], *source_y = values->source[1];    \
    uint8_t *restrict flag = values->flag;                                      \
    const uint8_t less = values->condition & RELATION_LESS ? 1 : 0,             \
                  equal = values->condition & RELATION_EQUAL ? 1 : 0;           \
    const uint8_t greater = values->condition & RELATION_GREATER ? 1 : 0;       \
    const uint8_t unordered = values->condition & RELATION_UNORDERED ? 1 : 0;   \
    for (int lane = 0; lane < LANES; lane++) {                                  \
      const Read x = (Read)source_x[lane], y = (Read)source_y[lane];            \
      flag[lane] = x < y ? less : x == y ? equal : x > y ? greater : unordered; \
    }                                                                           \
  }

COMPARE(compare_f32, f32, float)
COMPARE(compare_f64, f64, double)
COMPARE(compare_i32, i32, int32_t)
COMPARE(compare_u32, u32, uint32_t)
COMPARE(compare_i64, i64, int64_t)
COMPARE(compare_u64, u64, uint64_t)
COMPARE(compare_i16, u32, int16_t)

// The class of a number as a bit, as class comparisons take them: NaNs, then from -infinity to +infinity.
static unsigned number_class(bool negative, bool low_exponent, bool high_exponent, bool fraction,
                             bool quiet) {
  if (high_exponent && fraction) return quiet ? 1u << 1 : 1u << 0;
  unsigned magnitude = high_exponent ? 3 : !low_exponent ? 2 : fraction ? 1 : 0;
  return negative ? 1u << (5 - magnitude) : 1u << (6 + magnitude);
}

static unsigned class_of(uint64_t bits, int fraction_bits, int exponent_bits) {
  uint64_t exponents = (1ull << exponent_bits) - 1, exponent = bits >> fraction_bits & exponents;
  return number_class(bits >> (fraction_bits + exponent_bits) & 1, exponent == 0, exponent == exponents,
                      (bits & ((1ull << fraction_bits) - 1)) != 0, bits >> (fraction_bits - 1) & 1);
}

static void class_f16(const LaneValues *values) {
  const u32 *x = values->source[0], *mask = values->source[1];
  for (int lane = 0; lane < LANES; lane++) values->flag[lane] = (class_of(x[lane], 10, 5) & mask[lane]) != 0;
}

static void class_f32(const LaneValues *values) {
  const u32 *x = values->source[0], *mask = values->source[1];
  for (int lane = 0; lane < LANES; lane++) values->flag[lane] = (class_of(x[lane], 23, 8) & mask[lane]) != 0;
}

static void class_f64(const LaneValues *values) {
  const u64 *x = values->source[0];
  const u32 *mask = values->source[1];
  for (int lane = 0; lane < LANES; lane++) values->flag[lane] = (class_of(x[lane], 52, 11) & mask[lane]) != 0;
}

// By the type at the end of the name; class comparisons have the condition in theirs.
const VectorOperation compare_operations[] = {
    {"class_f16", "m=wu", class_f16},
    {"class_f32", "m=fu", class_f32},
    {"class_f64", "m=du", class_f64},
    {"f16", "m=hh", compare_f32},
    {"f32", "m=ff", compare_f32},
    {"f64", "m=dd", compare_f64},
    {"i16", "m=ww", compare_i16},
    {"u16", "m=ww", compare_u32},
    {"i32", "m=uu", compare_i32},
    {"u32", "m=uu", compare_u32},
    {"i64", "m=qq", compare_i64},
    {"u64", "m=qq", compare_u64},
    {0},
};

bool compare_condition(const char *name, uint8_t *condition) {
  enum { LT = RELATION_LESS, EQ = RELATION_EQUAL, GT = RELATION_GREATER, UN = RELATION_UNORDERED };
  static const struct {
    const char *name;
    uint8_t relations;
  } conditions[] = {
      {"f", 0},
      {"lt", LT},
      {"eq", EQ},
      {"le", LT | EQ},
      {"gt", GT},
      {"lg", LT | GT},
      {"ge", GT | EQ},
      {"o", LT | EQ | GT},
      {"u", UN},
      {"nge", LT | UN},
      {"nlg", EQ | UN},
      {"ngt", LT | EQ | UN},
      {"nle", GT | UN},
      {"neq", LT | GT | UN},
      {"ne", LT | GT | UN},
      {"nlt", EQ | GT | UN},
      {"tru", 15},
      {"t", 15},
  };
  for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
    if (!strcmp(name, conditions[i].name)) {
      *condition = conditions[i].relations;
      return true;
    }
  return false;
}
