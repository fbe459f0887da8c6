// Vector arithmetic in single and double precision.
//
// Functions that the hardware approximates (reciprocals, roots, exponentials, sines) are computed by the C
// library. Division: compilers refine a quotient in steps around div_scale, div_fmas and div_fixup, whose
// last step is here the rounded quotient itself, which is what the steps arrive at.
#include <math.h>

#include "vector.h"

static const double two_pi = 6.283185307179586;

// The one that is a number if only one is; -0 is less than +0.
static inline float min_single(float x, float y) {
  if (x == y) return bits_float(float_bits(x) | float_bits(y));
  return x < y || y != y ? x : y;
}

static inline float max_single(float x, float y) {
  if (x == y) return bits_float(float_bits(x) & float_bits(y));
  return x > y || y != y ? x : y;
}

static inline float median_single(float x, float y, float z) {
  if (x != x || y != y || z != z) return min_single(min_single(x, y), z);
  return max_single(min_single(x, y), min_single(max_single(x, y), z));
}

static inline double min_double(double x, double y) {
  if (x == y) return signbit(x) ? x : y;
  return x < y || y != y ? x : y;
}

static inline double max_double(double x, double y) {
  if (x == y) return signbit(x) ? y : x;
  return x > y || y != y ? x : y;
}

static inline float fraction_single(float x) {
  float fraction = x - floorf(x);
  return fraction < 1.f ? fraction : isnan(x) || isinf(x) ? NAN : 0x1.fffffep-1f;
}

static inline double fraction_double(double x) {
  double fraction = x - floor(x);
  return fraction < 1. ? fraction : isnan(x) || isinf(x) ? NAN : 0x1.fffffffffffffp-1;
}

static inline int exponent_of(double x) {
  int exponent = 0;
  if (isfinite(x) && x != 0) frexp(x, &exponent);
  return exponent;
}

static inline double mantissa_of(double x) {
  int exponent;
  return isfinite(x) ? frexp(x, &exponent) : x;
}

// The first 1201 bits of 2/pi after the binary point.
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

// 53 of these bits from bit `from` on.
static uint64_t bits_of_two_over_pi(int from) {
  enum { WORDS = sizeof two_over_pi / sizeof *two_over_pi };
  int word = from / 64, shift = from % 64;
  uint64_t high = word < WORDS ? two_over_pi[word] << shift : 0;
  uint64_t low = shift && word + 1 < WORDS ? two_over_pi[word + 1] >> (64 - shift) : 0;
  return (high | low) >> 11;
}

// The part of 2/pi that the reduction of an argument as large as x needs, in three or so segments of 53 bits.
static double reduction_segment(double x, uint32_t segment) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  int exponent = bits >> 52 & 0x7ff, shift = 53 * (int)(segment & 31);
  if (exponent > 1077) shift += exponent - 1077;
  return ldexp((double)bits_of_two_over_pi(shift), -53 - shift + (exponent >= 1968 ? 128 : 0));
}

LANES2(v_add_f32, f32, f32, f32, x + y)
LANES2(v_sub_f32, f32, f32, f32, x - y)
LANES2(v_subrev_f32, f32, f32, f32, y - x)
LANES2(v_mul_f32, f32, f32, f32, x *y)
LANES2(v_mul_legacy_f32, f32, f32, f32, x == 0 || y == 0 ? 0 : x * y)
LANES2(v_min_f32, f32, f32, f32, min_single(x, y))
LANES2(v_max_f32, f32, f32, f32, max_single(x, y))
LANES3(v_fma_f32, f32, f32, f32, f32, fmaf(x, y, z))
LANES3(v_mad_f32, f32, f32, f32, f32, x *y + z)
LANES3(v_min3_f32, f32, f32, f32, f32, min_single(min_single(x, y), z))
LANES3(v_max3_f32, f32, f32, f32, f32, max_single(max_single(x, y), z))
LANES3(v_med3_f32, f32, f32, f32, f32, median_single(x, y, z))
LANES1(v_rcp_f32, f32, f32, 1.f / x)
LANES1(v_rsq_f32, f32, f32, 1. / sqrt(x))
LANES1(v_sqrt_f32, f32, f32, sqrtf(x))
LANES1(v_exp_f32, f32, f32, exp2f(x))
LANES1(v_log_f32, f32, f32, log2f(x))
LANES1(v_sin_f32, f32, f32, sin(x *two_pi))
LANES1(v_cos_f32, f32, f32, cos(x *two_pi))
LANES1(v_fract_f32, f32, f32, fraction_single(x))
LANES1(v_trunc_f32, f32, f32, truncf(x))
LANES1(v_ceil_f32, f32, f32, ceilf(x))
LANES1(v_floor_f32, f32, f32, floorf(x))
LANES1(v_rndne_f32, f32, f32, rintf(x))
LANES2(v_ldexp_f32, f32, f32, i32, ldexpf(x, y))
LANES1(v_frexp_exp_i32_f32, u32, f32, exponent_of(x))
LANES1(v_frexp_mant_f32, f32, f32, mantissa_of(x))
LANES3(v_div_fmas_f32, f32, f32, f32, f32, fmaf(x, y, z))
LANES3(v_div_fixup_f32, f32, f32, f32, f32, ((void)x, z / y))

LANES2(v_add_f64, f64, f64, f64, x + y)
LANES2(v_mul_f64, f64, f64, f64, x *y)
LANES2(v_min_f64, f64, f64, f64, min_double(x, y))
LANES2(v_max_f64, f64, f64, f64, max_double(x, y))
LANES3(v_fma_f64, f64, f64, f64, f64, fma(x, y, z))
LANES1(v_rcp_f64, f64, f64, 1. / x)
LANES1(v_rsq_f64, f64, f64, 1. / sqrt(x))
LANES1(v_sqrt_f64, f64, f64, sqrt(x))
LANES1(v_trunc_f64, f64, f64, trunc(x))
LANES1(v_ceil_f64, f64, f64, ceil(x))
LANES1(v_floor_f64, f64, f64, floor(x))
LANES1(v_rndne_f64, f64, f64, rint(x))
LANES1(v_fract_f64, f64, f64, fraction_double(x))
LANES2(v_ldexp_f64, f64, f64, i32, ldexp(x, y))
LANES1(v_frexp_exp_i32_f64, u32, f64, exponent_of(x))
LANES1(v_frexp_mant_f64, f64, f64, mantissa_of(x))
LANES2(v_trig_preop_f64, f64, f64, u32, reduction_segment(x, y))
LANES3(v_div_fmas_f64, f64, f64, f64, f64, fma(x, y, z))
LANES3(v_div_fixup_f64, f64, f64, f64, f64, ((void)x, z / y))

static void v_div_scale_f32(const LaneValues *values) {
  __builtin_memcpy(values->result, values->source[0], LANES * sizeof(float));
  __builtin_memset(values->flag, 0, LANES);
}

static void v_div_scale_f64(const LaneValues *values) {
  __builtin_memcpy(values->result, values->source[0], LANES * sizeof(double));
  __builtin_memset(values->flag, 0, LANES);
}

// Two singles in a pair of registers.
#define PAIRS(name, expression)                                                               \
  FOR_EACH_PROCESSOR static void name(const LaneValues *values) {                             \
    f32 *restrict result = values->result;                                                    \
    const f32 *restrict source_x = values->source[0], *restrict source_y = values->source[1]; \
    const f32 *restrict source_z = values->source[2];                                         \
    for (int i = 0; i < 2 * LANES; i++) {                                                     \
      const f32 x = source_x[i], y = source_y[i], z = source_z[i];                            \
      (void)z;                                                                                \
      result[i] = (expression);                                                               \
    }                                                                                         \
  }

PAIRS(v_pk_fma_f32, fmaf(x, y, z))
PAIRS(v_pk_mul_f32, x *y)
PAIRS(v_pk_add_f32, x + y)

// The first bits of op_sel say which word of each source is meant, and reading the sources has put them
// first.
LANES2(v_pk_mov_b32, u64, u64, u64, (uint32_t)x | y << 32)

#define ENTRY(name, form) \
  { #name, form, name }

const VectorOperation float_operations[] = {
    ENTRY(v_add_f32, "f=ff"),
    ENTRY(v_sub_f32, "f=ff"),
    ENTRY(v_subrev_f32, "f=ff"),
    ENTRY(v_mul_f32, "f=ff"),
    ENTRY(v_mul_legacy_f32, "f=ff"),
    ENTRY(v_min_f32, "f=ff"),
    ENTRY(v_max_f32, "f=ff"),
    ENTRY(v_fma_f32, "f=fff"),
    {"v_fmaak_f32", "f=fff", v_fma_f32},
    {"v_fmamk_f32", "f=fff", v_fma_f32},
    {"v_fmac_f32", "f=ffa", v_fma_f32},
    ENTRY(v_mad_f32, "f=fff"),
    {"v_mac_f32", "f=ffa", v_mad_f32},
    ENTRY(v_min3_f32, "f=fff"),
    ENTRY(v_max3_f32, "f=fff"),
    ENTRY(v_med3_f32, "f=fff"),
    ENTRY(v_rcp_f32, "f=f"),
    {"v_rcp_iflag_f32", "f=f", v_rcp_f32},
    ENTRY(v_rsq_f32, "f=f"),
    ENTRY(v_sqrt_f32, "f=f"),
    ENTRY(v_exp_f32, "f=f"),
    {"v_exp_legacy_f32", "f=f", v_exp_f32},
    ENTRY(v_log_f32, "f=f"),
    {"v_log_legacy_f32", "f=f", v_log_f32},
    ENTRY(v_sin_f32, "f=f"),
    ENTRY(v_cos_f32, "f=f"),
    ENTRY(v_fract_f32, "f=f"),
    ENTRY(v_trunc_f32, "f=f"),
    ENTRY(v_ceil_f32, "f=f"),
    ENTRY(v_floor_f32, "f=f"),
    ENTRY(v_rndne_f32, "f=f"),
    ENTRY(v_ldexp_f32, "f=fu"),
    ENTRY(v_frexp_exp_i32_f32, "u=f"),
    ENTRY(v_frexp_mant_f32, "f=f"),
    ENTRY(v_div_scale_f32, "fc=fff"),
    ENTRY(v_div_fmas_f32, "f=fff"),
    ENTRY(v_div_fixup_f32, "f=fff"),
    ENTRY(v_pk_fma_f32, "P=PPP"),
    ENTRY(v_pk_mul_f32, "P=PP"),
    ENTRY(v_pk_add_f32, "P=PP"),
    ENTRY(v_pk_mov_b32, "q=PP"),
    {0},
};

const VectorOperation double_operations[] = {
    ENTRY(v_add_f64, "d=dd"),         ENTRY(v_mul_f64, "d=dd"),
    ENTRY(v_min_f64, "d=dd"),         ENTRY(v_max_f64, "d=dd"),
    ENTRY(v_fma_f64, "d=ddd"),        {"v_fmac_f64", "d=dda", v_fma_f64},
    ENTRY(v_rcp_f64, "d=d"),          ENTRY(v_rsq_f64, "d=d"),
    ENTRY(v_sqrt_f64, "d=d"),         ENTRY(v_trunc_f64, "d=d"),
    ENTRY(v_ceil_f64, "d=d"),         ENTRY(v_floor_f64, "d=d"),
    ENTRY(v_rndne_f64, "d=d"),        ENTRY(v_fract_f64, "d=d"),
    ENTRY(v_ldexp_f64, "d=du"),       ENTRY(v_frexp_exp_i32_f64, "u=d"),
    ENTRY(v_frexp_mant_f64, "d=d"),   ENTRY(v_trig_preop_f64, "d=du"),
    ENTRY(v_div_scale_f64, "dc=ddd"), ENTRY(v_div_fmas_f64, "d=ddd"),
    ENTRY(v_div_fixup_f64, "d=ddd"),  {0},
};
