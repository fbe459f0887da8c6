// Vector arithmetic in half precision, packed or not, and instructions that mix it with single precision.
#include <math.h>

#include "vector.h"

static inline float min_number(float x, float y) {
  if (x == y) return signbit(x) ? x : y;
  return x < y || y != y ? x : y;
}

static inline float max_number(float x, float y) {
  if (x == y) return signbit(x) ? y : x;
  return x > y || y != y ? x : y;
}

static inline float median(float x, float y, float z) {
  if (x != x || y != y || z != z) return min_number(min_number(x, y), z);
  return max_number(min_number(x, y), min_number(max_number(x, y), z));
}

// The product of two halves is exact in double precision, and so is its sum with a third wherever the result
// is one that rounding could go wrong for.
static inline uint32_t fused(float x, float y, float z) {
  return half_bits((double)x * y + z);
}

static inline float fraction(float x) {
  float result = x - floorf(x);
  return result < 1.f ? result : isnan(x) || isinf(x) ? NAN : 0x1.ffcp-1f;
}

static inline int exponent_of(float x) {
  int exponent = 0;
  if (isfinite(x) && x != 0) frexpf(x, &exponent);
  return exponent;
}

static inline float mantissa_of(float x) {
  int exponent;
  return isfinite(x) ? frexpf(x, &exponent) : x;
}

static const double two_pi = 6.283185307179586;

LANES2(v_add_f16, u32, f32, f32, half_bits_from_single(x + y))
LANES2(v_sub_f16, u32, f32, f32, half_bits_from_single(x - y))
LANES2(v_subrev_f16, u32, f32, f32, half_bits_from_single(y - x))
LANES2(v_mul_f16, u32, f32, f32, half_bits_from_single(x *y))
LANES2(v_min_f16, u32, f32, f32, half_bits_from_single(min_number(x, y)))
LANES2(v_max_f16, u32, f32, f32, half_bits_from_single(max_number(x, y)))
LANES3(v_min3_f16, u32, f32, f32, f32, half_bits_from_single(min_number(min_number(x, y), z)))
LANES3(v_max3_f16, u32, f32, f32, f32, half_bits_from_single(max_number(max_number(x, y), z)))
LANES3(v_med3_f16, u32, f32, f32, f32, half_bits_from_single(median(x, y, z)))
LANES3(v_fma_f16, u32, f32, f32, f32, fused(x, y, z))
LANES3(v_mad_f16, u32, f32, f32, f32, half_bits_from_single(half_to_float(half_bits_from_single(x *y)) + z))
LANES3(v_div_fixup_f16, u32, f32, f32, f32, ((void)x, half_bits_from_single(z / y)))
LANES1(v_rcp_f16, u32, f32, half_bits_from_single(1.f / x))
LANES1(v_sqrt_f16, u32, f32, half_bits_from_single(sqrtf(x)))
LANES1(v_rsq_f16, u32, f32, half_bits(1. / sqrt(x)))
LANES1(v_log_f16, u32, f32, half_bits(log2(x)))
LANES1(v_exp_f16, u32, f32, half_bits(exp2(x)))
LANES1(v_sin_f16, u32, f32, half_bits(sin(x *two_pi)))
LANES1(v_cos_f16, u32, f32, half_bits(cos(x *two_pi)))
LANES1(v_floor_f16, u32, f32, half_bits_from_single(floorf(x)))
LANES1(v_ceil_f16, u32, f32, half_bits_from_single(ceilf(x)))
LANES1(v_trunc_f16, u32, f32, half_bits_from_single(truncf(x)))
LANES1(v_rndne_f16, u32, f32, half_bits_from_single(rintf(x)))
LANES1(v_fract_f16, u32, f32, half_bits_from_single(fraction(x)))
LANES1(v_frexp_mant_f16, u32, f32, half_bits_from_single(mantissa_of(x)))
LANES1(v_frexp_exp_i16_f16, u32, f32, exponent_of(x))
LANES2(v_ldexp_f16, u32, f32, u32, half_bits(ldexp(x, (int16_t)y)))

LANES3(v_fma_mix_f32, f32, f32, f32, f32, fmaf(x, y, z))
LANES3(v_fma_mixlo_f16, u32, f32, f32, f32, half_bits_from_single(fmaf(x, y, z)))

#define ENTRY(name, form) \
  { #name, form, name }

const VectorOperation half_operations[] = {
    ENTRY(v_add_f16, "h=hh"),
    ENTRY(v_sub_f16, "h=hh"),
    ENTRY(v_subrev_f16, "h=hh"),
    ENTRY(v_mul_f16, "h=hh"),
    ENTRY(v_min_f16, "h=hh"),
    ENTRY(v_max_f16, "h=hh"),
    ENTRY(v_min3_f16, "h=hhh"),
    ENTRY(v_max3_f16, "h=hhh"),
    ENTRY(v_med3_f16, "h=hhh"),
    ENTRY(v_fma_f16, "h=hhh"),
    {"v_fmac_f16", "h=hha", v_fma_f16},
    ENTRY(v_mad_f16, "h=hhh"),
    {"v_mad_legacy_f16", "h=hhh", v_mad_f16},
    {"v_mac_f16", "h=hha", v_mad_f16},
    {"v_fma_legacy_f16", "h=hhh", v_fma_f16},
    ENTRY(v_div_fixup_f16, "h=hhh"),
    {"v_div_fixup_legacy_f16", "h=hhh", v_div_fixup_f16},
    ENTRY(v_rcp_f16, "h=h"),
    ENTRY(v_sqrt_f16, "h=h"),
    ENTRY(v_rsq_f16, "h=h"),
    ENTRY(v_log_f16, "h=h"),
    ENTRY(v_exp_f16, "h=h"),
    ENTRY(v_sin_f16, "h=h"),
    ENTRY(v_cos_f16, "h=h"),
    ENTRY(v_floor_f16, "h=h"),
    ENTRY(v_ceil_f16, "h=h"),
    ENTRY(v_trunc_f16, "h=h"),
    ENTRY(v_rndne_f16, "h=h"),
    ENTRY(v_fract_f16, "h=h"),
    ENTRY(v_frexp_mant_f16, "h=h"),
    ENTRY(v_frexp_exp_i16_f16, "w=h"),
    ENTRY(v_ldexp_f16, "h=hw"),
    ENTRY(v_fma_mix_f32, "f=xxx"),
    ENTRY(v_fma_mixlo_f16, "L=xxx"),
    {"v_fma_mixhi_f16", "H=xxx", v_fma_mixlo_f16},
    {0},
};

// Two halves in a word.
#define PACKED(name, expression)                                                           \
  static inline uint32_t name##_half(uint32_t x_bits, uint32_t y_bits, uint32_t z_bits) {  \
    float x = half_to_float(x_bits), y = half_to_float(y_bits), z = half_to_float(z_bits); \
    (void)z;                                                                               \
    return (expression);                                                                   \
  }                                                                                        \
  LANES3(name, u32, u32, u32, u32, name##_half(x, y, z) | name##_half(x >> 16, y >> 16, z >> 16) << 16)

PACKED(v_pk_add_f16, half_bits_from_single(x + y))
PACKED(v_pk_mul_f16, half_bits_from_single(x *y))
PACKED(v_pk_min_f16, half_bits_from_single(min_number(x, y)))
PACKED(v_pk_max_f16, half_bits_from_single(max_number(x, y)))
PACKED(v_pk_fma_f16, fused(x, y, z))

static inline float dot_halves(uint32_t x, uint32_t y, float z) {
  double low = (double)half_to_float(x) * half_to_float(y),
         high = (double)half_to_float(x >> 16) * half_to_float(y >> 16);
  return (float)(low + high + z);
}

LANES3(v_dot2_f32_f16, f32, u32, u32, f32, dot_halves(x, y, z))

const VectorOperation packed_float_operations[] = {
    ENTRY(v_pk_add_f16, "r=rr"),
    ENTRY(v_pk_mul_f16, "r=rr"),
    ENTRY(v_pk_min_f16, "r=rr"),
    ENTRY(v_pk_max_f16, "r=rr"),
    ENTRY(v_pk_fma_f16, "r=rrr"),
    {"v_pk_fmac_f16", "r=rra", v_pk_fma_f16},
    ENTRY(v_dot2_f32_f16, "f=rrf"),
    {"v_dot2c_f32_f16", "f=uua", v_dot2_f32_f16},
    {0},
};
