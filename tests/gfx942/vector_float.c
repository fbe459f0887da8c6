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
    ENTRY(v_add_f64, "d=dd"),          ENTRY(v_mul_f64, "d=dd"),        ENTRY(v_min_f64, "d=dd"),
    ENTRY(v_max_f64, "d=dd"),          ENTRY(v_fma_f64, "d=ddd"),       {"v_fmac_f64", "d=dda", v_fma_f64},
    ENTRY(v_rcp_f64, "d=d"),           ENTRY(v_rsq_f64, "d=d"),         ENTRY(v_sqrt_f64, "d=d"),
    ENTRY(v_trunc_f64, "d=d"),         ENTRY(v_ceil_f64, "d=d"),        ENTRY(v_floor_f64, "d=d"),
    ENTRY(v_rndne_f64, "d=d"),         ENTRY(v_fract_f64, "d=d"),       ENTRY(v_ldexp_f64, "d=du"),
    ENTRY(v_frexp_exp_i32_f64, "u=d"), ENTRY(v_frexp_mant_f64, "d=d"),  ENTRY(v_div_scale_f64, "dc=ddd"),
    ENTRY(v_div_fmas_f64, "d=ddd"),    ENTRY(v_div_fixup_f64, "d=ddd"), {0},
};
