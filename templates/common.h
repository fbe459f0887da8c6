// What every kernel shares: the storage type of the problem, its arithmetic type, and moving between them.
//   gt_storage     element in memory: float, double, or the 16 bits of an f16 or bf16
//   gt_real        float, or double for f64
//   gt_widen/gt_narrow   storage ↔ gt_real, narrowing with one rounding to nearest even
//   gt_first/gt_second   the elements of a 32-bit word of a 16-bit type; gt_pair the other way
#if defined(GT_DTYPE_F64)
typedef double gt_storage;
typedef double gt_real;
#define gt_widen(x) (x)
#define gt_narrow(x) ((double)(x))
#elif defined(GT_DTYPE_F32)
typedef float gt_storage;
typedef float gt_real;
#define gt_widen(x) (x)
#define gt_narrow(x) ((float)(x))
#elif defined(GT_DTYPE_F16)
typedef gt_u16 gt_storage;
typedef float gt_real;
#define gt_widen(x) gt_half_float(x)
#define gt_narrow(x) gt_float_half((float)(x))
#define gt_first(word) gt_half_float((gt_u16)(word))
#define gt_second(word) gt_half_float((gt_u16)((word) >> 16))
#define gt_pair(a, b) gt_float_half2((float)(a), (float)(b))
#elif defined(GT_DTYPE_BF16)
typedef gt_u16 gt_storage;
typedef float gt_real;
// To nearest even; a NaN stays a (quiet) NaN.
GT_FUNCTION gt_u32 gt_float_bfloat(float value) {
  gt_u32 bits = gt_float_bits(value);
  gt_u32 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded;
}
#define gt_widen(x) gt_bits_float((gt_u32)(x) << 16)
#define gt_narrow(x) ((gt_u16)gt_float_bfloat((float)(x)))
#define gt_first(word) gt_bits_float((word) << 16)
#define gt_second(word) gt_bits_float((word) & 0xffff0000u)
#ifdef GT_NATIVE_BFLOAT2
#define gt_pair(a, b) gt_float_bfloat2((float)(a), (float)(b))
#else
#define gt_pair(a, b) (gt_float_bfloat((float)(a)) | gt_float_bfloat((float)(b)) << 16)
#endif
#endif

// `x` where it lies in 0 … most, else the nearer of both.
GT_FUNCTION gt_i32 gt_clamp(gt_i32 x, gt_i32 most) { return x < 0 ? 0 : x > most ? most : x; }

// base + index · stride elements, in bytes: compilers make one multiply-add of it, which they do not of the same in elements.
#define gt_row(base, index, stride) \
  ((const GT_GLOBAL gt_storage *)((const GT_GLOBAL char *)(base) + (gt_i64)(index) * (gt_i64)((stride) * sizeof(gt_storage))))
