// OpenCL C. Half precision is a storage format here: vload_half and vstore_half are core, cl_khr_fp16 is not needed.
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef ushort gt_u16;
typedef uint gt_u32;
typedef int gt_i32;
typedef long gt_i64;
typedef ulong gt_u64;
typedef uint4 gt_vec16;
typedef uint2 gt_vec8;

#define GT_GLOBAL __global
#define GT_SHARED __local
#define GT_RESTRICT restrict
#define GT_TABLE __constant
#define GT_TABLE_POINTER(type) const __constant type *
#define GT_ALIGNED16 __attribute__((aligned(16)))
#define GT_FUNCTION static inline
#define GT_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define gt_block() ((gt_u64)get_group_id(1) * get_num_groups(0) + get_group_id(0))
#define gt_blocks() ((gt_u64)get_num_groups(1) * get_num_groups(0))
#define gt_thread() ((gt_u32)get_local_id(0))
#define gt_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define gt_barrier_global() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE) // for what the block wrote to global memory too
#define GT_STORE(type, address, value) (*(type *)(address) = (value))

#define gt_fma_float(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define gt_fma_double(a, b, c) fma((double)(a), (double)(b), (double)(c))
#define gt_floor_float(x) floor((float)(x))
#define gt_floor_double(x) floor((double)(x))
#define gt_rint_float(x) rint((float)(x))
#define gt_rint_double(x) rint((double)(x))
#define gt_float_bits(x) as_uint((float)(x))
#define gt_bits_float(x) as_float((gt_u32)(x))
#define gt_double_high(x) ((gt_u32)(as_ulong((double)(x)) >> 32))
#define gt_double_low(x) ((gt_u32)as_ulong((double)(x)))
#define gt_bits_double(high, low) as_double((gt_u64)(high) << 32 | (gt_u32)(low))

GT_FUNCTION float gt_half_float(gt_u16 bits) { return vload_half(0, (const __private half *)&bits); }
GT_FUNCTION gt_u16 gt_float_half(float value) {
  gt_u16 bits;
  vstore_half_rte(value, 0, (__private half *)&bits);
  return bits;
}
GT_FUNCTION gt_u32 gt_float_half2(float low, float high) {
  return gt_float_half(low) | (gt_u32)gt_float_half(high) << 16;
}

#define gt_atomic_add_int(address, value) atomic_add((volatile __global int *)(address), value) // the value before
#define gt_shared_add_int(address, value) atomic_add((volatile __local int *)(address), value) // of shared memory

// OpenCL 1.2 has no atomic addition of floating-point numbers: exchange until nobody came between.
#define GT_ATOMIC_ADD(name, space, type, bits, exchange, to_bits, from_bits) \
  GT_FUNCTION void name(volatile space type *address, type value) { \
    volatile space bits *word = (volatile space bits *)address; \
    bits seen = *word, expected; \
    do { \
      expected = seen; \
      seen = exchange(word, expected, to_bits(from_bits(expected) + value)); \
    } while (seen != expected); \
  }
GT_ATOMIC_ADD(gt_atomic_add_float, __global, float, uint, atomic_cmpxchg, as_uint, as_float)
GT_ATOMIC_ADD(gt_shared_add_float, __local, float, uint, atomic_cmpxchg, as_uint, as_float)
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
GT_ATOMIC_ADD(gt_atomic_add_double, __global, double, ulong, atom_cmpxchg, as_ulong, as_double)
GT_ATOMIC_ADD(gt_shared_add_double, __local, double, ulong, atom_cmpxchg, as_ulong, as_double)
#endif
