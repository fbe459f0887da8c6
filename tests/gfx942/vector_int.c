// Vector instructions on integers.
#include "vector.h"

static inline uint32_t reverse_bits(uint32_t x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(x);
}

static inline uint32_t leading_sign_bits(uint32_t x) {
  uint32_t changed = (int32_t)x < 0 ? ~x : x;
  return changed ? (uint32_t)__builtin_clz(changed) : ~0u;
}

static inline uint32_t extract_unsigned(uint32_t x, uint32_t offset, uint32_t width) {
  return x >> (offset & 31) & ((1u << (width & 31)) - 1);
}

static inline int32_t extract_signed(int32_t x, uint32_t offset, uint32_t width) {
  width &= 31;
  if (width == 0) return 0;
  uint32_t field = (uint32_t)(x >> (offset & 31)) << (32 - width);
  return (int32_t)field >> (32 - width);
}

// A byte of the result for each byte of the selector: one of the eight bytes, a byte full of a sign, or a
// constant.
static inline uint32_t permute_bytes(uint64_t bytes, uint32_t selector) {
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t select = selector >> (8 * i) & 255, byte;
    if (select < 8)
      byte = bytes >> (8 * select) & 255;
    else if (select < 12)
      byte = bytes >> (16 * (select - 8) + 15) & 1 ? 255 : 0;
    else
      byte = select == 12 ? 0 : 255;
    result |= byte << (8 * i);
  }
  return result;
}

static inline uint32_t byte_differences(uint32_t x, uint32_t y, bool masked) {
  uint32_t sum = 0;
  for (int i = 0; i < 32; i += 8) {
    int a = x >> i & 255, b = y >> i & 255;
    if (!masked || b) sum += (uint32_t)(a > b ? a - b : b - a);
  }
  return sum;
}

static inline uint32_t word_differences(uint32_t x, uint32_t y) {
  int low = (int)(x & 0xffff) - (int)(y & 0xffff), high = (int)(x >> 16) - (int)(y >> 16);
  return (uint32_t)(low < 0 ? -low : low) + (uint32_t)(high < 0 ? -high : high);
}

static inline uint32_t average_bytes(uint32_t x, uint32_t y, uint32_t round) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 8) result |= (((x >> i & 255) + (y >> i & 255) + (round >> i & 1)) >> 1) << i;
  return result;
}

// Sum of products of `bits` wide parts.
static inline uint32_t dot_signed(uint32_t x, uint32_t y, int bits) {
  int32_t sum = 0;
  for (int i = 0; i < 32; i += bits) {
    int32_t a = (int32_t)(x << (32 - bits - i)) >> (32 - bits),
            b = (int32_t)(y << (32 - bits - i)) >> (32 - bits);
    sum = (int32_t)((uint32_t)sum + (uint32_t)(a * b));
  }
  return (uint32_t)sum;
}

static inline uint32_t dot_unsigned(uint32_t x, uint32_t y, int bits) {
  uint32_t sum = 0, mask = bits == 16 ? 0xffff : (1u << bits) - 1;
  for (int i = 0; i < 32; i += bits) sum += (x >> i & mask) * (y >> i & mask);
  return sum;
}

static inline int32_t clamp_range(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}

#define SIGN24(x) ((int32_t)((uint32_t)(x) << 8) >> 8)
#define LOW24(x) ((x)&0xffffffu)
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MEDIAN(x, y, z) MAX(MIN(x, y), MIN(MAX(x, y), z))

LANES1(v_mov_b32, u32, u32, x)
LANES1(v_mov_b64, u64, u64, x)
LANES1(v_not_b32, u32, u32, ~x)
LANES1(v_bfrev_b32, u32, u32, reverse_bits(x))
LANES1(v_ffbh_u32, u32, u32, x ? (uint32_t)__builtin_clz(x) : ~0u)
LANES1(v_ffbh_i32, u32, u32, leading_sign_bits(x))
LANES1(v_ffbl_b32, u32, u32, x ? (uint32_t)__builtin_ctz(x) : ~0u)
LANES2(v_bcnt_u32_b32, u32, u32, u32, (uint32_t)__builtin_popcount(x) + y)
LANES2(v_mbcnt_lo_u32_b32, u32, u32, u32,
       y + (uint32_t)__builtin_popcount(lane >= 32 ? x : x & ((1u << lane) - 1)))
LANES2(v_mbcnt_hi_u32_b32, u32, u32, u32,
       y + (lane <= 32 ? 0 : (uint32_t)__builtin_popcount(x & ((1u << (lane - 32)) - 1))))
LANES3(v_cndmask_b32, u32, u32, u32, u32, z ? y : x)

LANES2(v_add_u32, u32, u32, u32, values->clamp &&x + y < x ? ~0u : x + y)
LANES2(v_sub_u32, u32, u32, u32, values->clamp &&y > x ? 0 : x - y)
LANES2(v_subrev_u32, u32, u32, u32, values->clamp &&x > y ? 0 : y - x)
LANES2(v_add_i32, u32, i32, i32,
       values->clamp ? MAX(MIN((int64_t)x + y, INT32_MAX), INT32_MIN) : (int64_t)x + y)
LANES2(v_sub_i32, u32, i32, i32,
       values->clamp ? MAX(MIN((int64_t)x - y, INT32_MAX), INT32_MIN) : (int64_t)x - y)
LANES2(v_mul_lo_u32, u32, u32, u32, x *y)
LANES2(v_mul_hi_u32, u32, u32, u32, (uint64_t)x *y >> 32)
LANES2(v_mul_hi_i32, u32, i32, i32, (int64_t)x *y >> 32)
LANES2(v_mul_u32_u24, u32, u32, u32, LOW24(x) * LOW24(y))
LANES2(v_mul_i32_i24, u32, u32, u32, (int64_t)SIGN24(x) * SIGN24(y))
LANES2(v_mul_hi_u32_u24, u32, u32, u32, (uint64_t)LOW24(x) * LOW24(y) >> 32)
LANES2(v_mul_hi_i32_i24, u32, u32, u32, (int64_t)SIGN24(x) * SIGN24(y) >> 32)
LANES3(v_mad_u32_u24, u32, u32, u32, u32, LOW24(x) * LOW24(y) + z)
LANES3(v_mad_i32_i24, u32, u32, u32, u32, (uint32_t)((int64_t)SIGN24(x) * SIGN24(y)) + z)
LANES3(v_mad_u32_u16, u32, u32, u32, u32, x *y + z)
LANES3(v_mad_i32_i16, u32, u32, u32, u32, (uint32_t)((int16_t)x *(int16_t)y) + z)
LANES3(v_lshl_add_u64, u64, u64, u32, u64, (x << (y & 7)) + z)
LANES2(v_lshlrev_b64, u64, u32, u64, y << (x & 63))
LANES2(v_lshrrev_b64, u64, u32, u64, y >> (x & 63))
LANES2(v_ashrrev_i64, u64, u32, i64, y >> (x & 63))
LANES2(v_lshlrev_b32, u32, u32, u32, y << (x & 31))
LANES2(v_lshrrev_b32, u32, u32, u32, y >> (x & 31))
LANES2(v_ashrrev_i32, u32, u32, i32, y >> (x & 31))
LANES2(v_and_b32, u32, u32, u32, x &y)
LANES2(v_or_b32, u32, u32, u32, x | y)
LANES2(v_xor_b32, u32, u32, u32, x ^ y)
LANES2(v_xnor_b32, u32, u32, u32, ~(x ^ y))
LANES2(v_min_i32, u32, i32, i32, MIN(x, y))
LANES2(v_max_i32, u32, i32, i32, MAX(x, y))
LANES2(v_min_u32, u32, u32, u32, MIN(x, y))
LANES2(v_max_u32, u32, u32, u32, MAX(x, y))
LANES3(v_min3_i32, u32, i32, i32, i32, MIN(MIN(x, y), z))
LANES3(v_max3_i32, u32, i32, i32, i32, MAX(MAX(x, y), z))
LANES3(v_med3_i32, u32, i32, i32, i32, MEDIAN(x, y, z))
LANES3(v_min3_u32, u32, u32, u32, u32, MIN(MIN(x, y), z))
LANES3(v_max3_u32, u32, u32, u32, u32, MAX(MAX(x, y), z))
LANES3(v_med3_u32, u32, u32, u32, u32, MEDIAN(x, y, z))
LANES3(v_add3_u32, u32, u32, u32, u32, x + y + z)
LANES3(v_lshl_add_u32, u32, u32, u32, u32, (x << (y & 31)) + z)
LANES3(v_add_lshl_u32, u32, u32, u32, u32, (x + y) << (z & 31))
LANES3(v_lshl_or_b32, u32, u32, u32, u32, x << (y & 31) | z)
LANES3(v_and_or_b32, u32, u32, u32, u32, (x & y) | z)
LANES3(v_or3_b32, u32, u32, u32, u32, x | y | z)
LANES3(v_xad_u32, u32, u32, u32, u32, (x ^ y) + z)
LANES3(v_bfe_u32, u32, u32, u32, u32, extract_unsigned(x, y, z))
LANES3(v_bfe_i32, u32, i32, u32, u32, extract_signed(x, y, z))
LANES3(v_bfi_b32, u32, u32, u32, u32, (x & y) | (~x & z))
LANES2(v_bfm_b32, u32, u32, u32, ((1u << (x & 31)) - 1) << (y & 31))
LANES3(v_alignbit_b32, u32, u32, u32, u32, ((uint64_t)x << 32 | y) >> (z & 31))
LANES3(v_alignbyte_b32, u32, u32, u32, u32, ((uint64_t)x << 32 | y) >> (8 * (z & 3)))
LANES3(v_perm_b32, u32, u32, u32, u32, permute_bytes((uint64_t)x << 32 | y, z))
LANES3(v_sad_u32, u32, u32, u32, u32, (x > y ? x - y : y - x) + z)
LANES3(v_sad_u16, u32, u32, u32, u32, word_differences(x, y) + z)
LANES3(v_sad_u8, u32, u32, u32, u32, byte_differences(x, y, false) + z)
LANES3(v_msad_u8, u32, u32, u32, u32, byte_differences(x, y, true) + z)
LANES3(v_sad_hi_u8, u32, u32, u32, u32, (byte_differences(x, y, false) << 16) + z)
LANES3(v_lerp_u8, u32, u32, u32, u32, average_bytes(x, y, z))
LANES3(v_dot2_i32_i16, u32, u32, u32, u32, dot_signed(x, y, 16) + z)
LANES3(v_dot2_u32_u16, u32, u32, u32, u32, dot_unsigned(x, y, 16) + z)
LANES3(v_dot4_i32_i8, u32, u32, u32, u32, dot_signed(x, y, 8) + z)
LANES3(v_dot4_u32_u8, u32, u32, u32, u32, dot_unsigned(x, y, 8) + z)
LANES3(v_dot8_i32_i4, u32, u32, u32, u32, dot_signed(x, y, 4) + z)
LANES3(v_dot8_u32_u4, u32, u32, u32, u32, dot_unsigned(x, y, 4) + z)

// Integers of 16 bits come zero-extended; what is above bit 15 of a result is dropped.
LANES2(v_add_u16, u32, u32, u32, values->clamp ? MIN(x + y, 0xffffu) : x + y)
LANES2(v_sub_u16, u32, u32, u32, values->clamp &&y > x ? 0 : x - y)
LANES2(v_subrev_u16, u32, u32, u32, values->clamp &&x > y ? 0 : y - x)
LANES2(v_add_i16, u32, u32, u32,
       values->clamp ? clamp_range((int16_t)x + (int16_t)y, INT16_MIN, INT16_MAX) : (int16_t)x + (int16_t)y)
LANES2(v_sub_i16, u32, u32, u32,
       values->clamp ? clamp_range((int16_t)x - (int16_t)y, INT16_MIN, INT16_MAX) : (int16_t)x - (int16_t)y)
LANES2(v_mul_lo_u16, u32, u32, u32, x *y)
LANES3(v_mad_u16, u32, u32, u32, u32, x *y + z)
LANES2(v_lshlrev_b16, u32, u32, u32, y << (x & 15))
LANES2(v_lshrrev_b16, u32, u32, u32, y >> (x & 15))
LANES2(v_ashrrev_i16, u32, u32, u32, (int16_t)y >> (x & 15))
LANES2(v_min_u16, u32, u32, u32, MIN(x, y))
LANES2(v_max_u16, u32, u32, u32, MAX(x, y))
LANES2(v_min_i16, u32, u32, u32, MIN((int16_t)x, (int16_t)y))
LANES2(v_max_i16, u32, u32, u32, MAX((int16_t)x, (int16_t)y))
LANES3(v_min3_i16, u32, u32, u32, u32, MIN(MIN((int16_t)x, (int16_t)y), (int16_t)z))
LANES3(v_max3_i16, u32, u32, u32, u32, MAX(MAX((int16_t)x, (int16_t)y), (int16_t)z))
LANES3(v_med3_i16, u32, u32, u32, u32, MEDIAN((int16_t)x, (int16_t)y, (int16_t)z))
LANES2(v_cvt_pk_u16_u32, u32, u32, u32, MIN(x, 0xffffu) | MIN(y, 0xffffu) << 16)
LANES2(v_cvt_pk_i16_i32, u32, i32, i32,
       (clamp_range(x, INT16_MIN, INT16_MAX) & 0xffff) | (uint32_t)clamp_range(y, INT16_MIN, INT16_MAX) << 16)
LANES1(v_sat_pk_u8_i16, u32, u32,
       clamp_range((int16_t)x, 0, 255) | clamp_range((int16_t)(x >> 16), 0, 255) << 8)

// Sums with a carry in, out, or both.
static inline void add_with(const LaneValues *values, bool subtract, bool reverse, bool carry_in) {
  u32 *result = values->result;
  const u32 *a = values->source[reverse], *b = values->source[!reverse], *carry = values->source[2];
  for (int lane = 0; lane < LANES; lane++) {
    uint64_t second = (uint64_t)b[lane] + (carry_in ? carry[lane] : 0);
    uint64_t sum = subtract ? a[lane] - second : a[lane] + second;
    result[lane] = (uint32_t)sum;
    values->flag[lane] = sum >> 32 != 0;
    if (values->clamp && values->flag[lane]) result[lane] = subtract ? 0 : ~0u;
  }
}

static void v_add_co_u32(const LaneValues *values) {
  add_with(values, false, false, false);
}
static void v_sub_co_u32(const LaneValues *values) {
  add_with(values, true, false, false);
}
static void v_subrev_co_u32(const LaneValues *values) {
  add_with(values, true, true, false);
}
static void v_addc_co_u32(const LaneValues *values) {
  add_with(values, false, false, true);
}
static void v_subb_co_u32(const LaneValues *values) {
  add_with(values, true, false, true);
}
static void v_subbrev_co_u32(const LaneValues *values) {
  add_with(values, true, true, true);
}

static void v_mad_u64_u32(const LaneValues *values) {
  u64 *result = values->result;
  const u32 *x = values->source[0], *y = values->source[1];
  const u64 *z = values->source[2];
  for (int lane = 0; lane < LANES; lane++)
    values->flag[lane] =
        __builtin_add_overflow((uint64_t)x[lane] * y[lane], (uint64_t)z[lane], &result[lane]);
}

static void v_mad_i64_i32(const LaneValues *values) {
  i64 *result = values->result;
  const i32 *x = values->source[0], *y = values->source[1];
  const i64 *z = values->source[2];
  for (int lane = 0; lane < LANES; lane++)
    values->flag[lane] = __builtin_add_overflow((int64_t)x[lane] * y[lane], (int64_t)z[lane], &result[lane]);
}

#define ENTRY(name, form) \
  { #name, form, name }

const VectorOperation integer_operations[] = {
    ENTRY(v_mov_b32, "u=u"),
    ENTRY(v_mov_b64, "q=q"),
    {"v_accvgpr_read_b32", "u=u", v_mov_b32},
    {"v_accvgpr_write_b32", "u=u", v_mov_b32},
    {"v_accvgpr_mov_b32", "u=u", v_mov_b32},
    ENTRY(v_not_b32, "u=u"),
    ENTRY(v_bfrev_b32, "u=u"),
    ENTRY(v_ffbh_u32, "u=u"),
    ENTRY(v_ffbh_i32, "u=u"),
    ENTRY(v_ffbl_b32, "u=u"),
    ENTRY(v_bcnt_u32_b32, "u=uu"),
    ENTRY(v_mbcnt_lo_u32_b32, "u=uu"),
    ENTRY(v_mbcnt_hi_u32_b32, "u=uu"),
    ENTRY(v_cndmask_b32, "u=ffm"),
    ENTRY(v_add_u32, "u=uu"),
    ENTRY(v_sub_u32, "u=uu"),
    ENTRY(v_subrev_u32, "u=uu"),
    ENTRY(v_add_i32, "u=uu"),
    ENTRY(v_sub_i32, "u=uu"),
    ENTRY(v_add_co_u32, "uc=uu"),
    ENTRY(v_sub_co_u32, "uc=uu"),
    ENTRY(v_subrev_co_u32, "uc=uu"),
    ENTRY(v_addc_co_u32, "uc=uum"),
    ENTRY(v_subb_co_u32, "uc=uum"),
    ENTRY(v_subbrev_co_u32, "uc=uum"),
    ENTRY(v_mul_lo_u32, "u=uu"),
    ENTRY(v_mul_hi_u32, "u=uu"),
    ENTRY(v_mul_hi_i32, "u=uu"),
    ENTRY(v_mul_u32_u24, "u=uu"),
    ENTRY(v_mul_i32_i24, "u=uu"),
    ENTRY(v_mul_hi_u32_u24, "u=uu"),
    ENTRY(v_mul_hi_i32_i24, "u=uu"),
    ENTRY(v_mad_u32_u24, "u=uuu"),
    ENTRY(v_mad_i32_i24, "u=uuu"),
    ENTRY(v_mad_u32_u16, "u=wwu"),
    ENTRY(v_mad_i32_i16, "u=wwu"),
    ENTRY(v_mad_u64_u32, "qc=uuq"),
    ENTRY(v_mad_i64_i32, "qc=uuq"),
    ENTRY(v_lshl_add_u64, "q=quq"),
    ENTRY(v_lshlrev_b64, "q=uq"),
    ENTRY(v_lshrrev_b64, "q=uq"),
    ENTRY(v_ashrrev_i64, "q=uq"),
    ENTRY(v_lshlrev_b32, "u=uu"),
    ENTRY(v_lshrrev_b32, "u=uu"),
    ENTRY(v_ashrrev_i32, "u=uu"),
    ENTRY(v_and_b32, "u=uu"),
    ENTRY(v_or_b32, "u=uu"),
    ENTRY(v_xor_b32, "u=uu"),
    ENTRY(v_xnor_b32, "u=uu"),
    ENTRY(v_min_i32, "u=uu"),
    ENTRY(v_max_i32, "u=uu"),
    ENTRY(v_min_u32, "u=uu"),
    ENTRY(v_max_u32, "u=uu"),
    ENTRY(v_min3_i32, "u=uuu"),
    ENTRY(v_max3_i32, "u=uuu"),
    ENTRY(v_med3_i32, "u=uuu"),
    ENTRY(v_min3_u32, "u=uuu"),
    ENTRY(v_max3_u32, "u=uuu"),
    ENTRY(v_med3_u32, "u=uuu"),
    ENTRY(v_add3_u32, "u=uuu"),
    ENTRY(v_lshl_add_u32, "u=uuu"),
    ENTRY(v_add_lshl_u32, "u=uuu"),
    ENTRY(v_lshl_or_b32, "u=uuu"),
    ENTRY(v_and_or_b32, "u=uuu"),
    ENTRY(v_or3_b32, "u=uuu"),
    ENTRY(v_xad_u32, "u=uuu"),
    ENTRY(v_bfe_u32, "u=uuu"),
    ENTRY(v_bfe_i32, "u=uuu"),
    ENTRY(v_bfi_b32, "u=uuu"),
    ENTRY(v_bfm_b32, "u=uu"),
    ENTRY(v_alignbit_b32, "u=uuu"),
    ENTRY(v_alignbyte_b32, "u=uuu"),
    ENTRY(v_perm_b32, "u=uuu"),
    ENTRY(v_sad_u32, "u=uuu"),
    ENTRY(v_sad_u16, "u=uuu"),
    ENTRY(v_sad_u8, "u=uuu"),
    ENTRY(v_sad_hi_u8, "u=uuu"),
    ENTRY(v_msad_u8, "u=uuu"),
    ENTRY(v_lerp_u8, "u=uuu"),
    ENTRY(v_dot2_i32_i16, "u=ppu"),
    ENTRY(v_dot2_u32_u16, "u=ppu"),
    ENTRY(v_dot4_i32_i8, "u=uuu"),
    ENTRY(v_dot4_u32_u8, "u=uuu"),
    ENTRY(v_dot8_i32_i4, "u=uuu"),
    ENTRY(v_dot8_u32_u4, "u=uuu"),
    {"v_dot2c_i32_i16", "u=uua", v_dot2_i32_i16},
    {"v_dot4c_i32_i8", "u=uua", v_dot4_i32_i8},
    {"v_dot8c_i32_i4", "u=uua", v_dot8_i32_i4},
    ENTRY(v_add_u16, "w=ww"),
    ENTRY(v_sub_u16, "w=ww"),
    ENTRY(v_subrev_u16, "w=ww"),
    ENTRY(v_add_i16, "w=ww"),
    ENTRY(v_sub_i16, "w=ww"),
    ENTRY(v_mul_lo_u16, "w=ww"),
    ENTRY(v_mad_u16, "w=www"),
    {"v_mad_i16", "w=www", v_mad_u16},
    {"v_mad_legacy_u16", "w=www", v_mad_u16},
    {"v_mad_legacy_i16", "w=www", v_mad_u16},
    ENTRY(v_lshlrev_b16, "w=ww"),
    ENTRY(v_lshrrev_b16, "w=ww"),
    ENTRY(v_ashrrev_i16, "w=ww"),
    ENTRY(v_min_u16, "w=ww"),
    ENTRY(v_max_u16, "w=ww"),
    ENTRY(v_min_i16, "w=ww"),
    ENTRY(v_max_i16, "w=ww"),
    {"v_min3_u16", "w=www", v_min3_u32},
    {"v_max3_u16", "w=www", v_max3_u32},
    {"v_med3_u16", "w=www", v_med3_u32},
    ENTRY(v_min3_i16, "w=www"),
    ENTRY(v_max3_i16, "w=www"),
    ENTRY(v_med3_i16, "w=www"),
    ENTRY(v_cvt_pk_u16_u32, "u=uu"),
    ENTRY(v_cvt_pk_i16_i32, "u=uu"),
    ENTRY(v_sat_pk_u8_i16, "u=u"),
    {0},
};

// Two 16-bit integers in a word.
#define PACKED(name, expression)                                                       \
  static inline uint32_t name##_half(uint32_t x, uint32_t y, uint32_t z, bool clamp) { \
    (void)z, (void)clamp;                                                              \
    return (uint32_t)(expression)&0xffff;                                              \
  }                                                                                    \
  LANES3(name, u32, u32, u32, u32,                                                     \
         name##_half(x & 0xffff, y & 0xffff, z & 0xffff, values->clamp) |              \
             name##_half(x >> 16, y >> 16, z >> 16, values->clamp) << 16)

PACKED(v_pk_add_u16, clamp ? MIN(x + y, 0xffffu) : x + y)
PACKED(v_pk_sub_u16, clamp &&y > x ? 0 : x - y)
PACKED(v_pk_add_i16, clamp ? clamp_range((int16_t)x + (int16_t)y, INT16_MIN, INT16_MAX) : (int)(x + y))
PACKED(v_pk_sub_i16, clamp ? clamp_range((int16_t)x - (int16_t)y, INT16_MIN, INT16_MAX) : (int)(x - y))
PACKED(v_pk_mul_lo_u16, x *y)
PACKED(v_pk_mad_u16, x *y + z)
PACKED(v_pk_lshlrev_b16, y << (x & 15))
PACKED(v_pk_lshrrev_b16, y >> (x & 15))
PACKED(v_pk_ashrrev_i16, (int16_t)y >> (x & 15))
PACKED(v_pk_min_u16, MIN(x, y))
PACKED(v_pk_max_u16, MAX(x, y))
PACKED(v_pk_min_i16, MIN((int16_t)x, (int16_t)y))
PACKED(v_pk_max_i16, MAX((int16_t)x, (int16_t)y))

const VectorOperation packed_operations[] = {
    ENTRY(v_pk_add_u16, "u=pp"),
    ENTRY(v_pk_sub_u16, "u=pp"),
    ENTRY(v_pk_add_i16, "u=pp"),
    ENTRY(v_pk_sub_i16, "u=pp"),
    ENTRY(v_pk_mul_lo_u16, "u=pp"),
    ENTRY(v_pk_mad_u16, "u=ppp"),
    {"v_pk_mad_i16", "u=ppp", v_pk_mad_u16},
    ENTRY(v_pk_lshlrev_b16, "u=pp"),
    ENTRY(v_pk_lshrrev_b16, "u=pp"),
    ENTRY(v_pk_ashrrev_i16, "u=pp"),
    ENTRY(v_pk_min_u16, "u=pp"),
    ENTRY(v_pk_max_u16, "u=pp"),
    ENTRY(v_pk_min_i16, "u=pp"),
    ENTRY(v_pk_max_i16, "u=pp"),
    {0},
};
