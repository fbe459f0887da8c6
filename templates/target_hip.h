// HIP C++ for hiprtc. No header is included: everything used is built into the compiler.
typedef unsigned short gt_u16;
typedef unsigned int gt_u32;
typedef int gt_i32;
typedef long long gt_i64;
typedef unsigned long long gt_u64;
typedef gt_u32 gt_vec16 __attribute__((ext_vector_type(4)));
typedef gt_u32 gt_vec8 __attribute__((ext_vector_type(2)));

#define GT_GLOBAL
#define GT_SHARED __shared__
#define GT_RESTRICT __restrict__
#define GT_TABLE static __device__ const
#define GT_TABLE_POINTER(type) const type *
#define GT_ALIGNED16 __attribute__((aligned(16)))
#define GT_FUNCTION static __device__ inline __attribute__((always_inline))
#define GT_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define gt_block() ((gt_u64)blockIdx.y * gridDim.x + blockIdx.x)
#define gt_blocks() ((gt_u64)gridDim.y * gridDim.x)
#define gt_thread() threadIdx.x
#define gt_barrier() __syncthreads()
#define gt_barrier_global() __syncthreads() // for what the block wrote to global memory too
#define GT_STORE(type, address, value) (*(type *)(address) = (value))

// The number of block b of n when the blocks of each of x chiplets are numbered through (block b runs on chiplet b mod x).
GT_FUNCTION gt_u64 gt_block_by_chiplet(gt_u64 b, gt_u64 n, gt_u32 x) {
  const gt_u64 chiplet = b % x, each = n / x, more = n % x;
  return chiplet * each + (chiplet < more ? chiplet : more) + b / x;
}

#define gt_fma_float(a, b, c) __builtin_fmaf(a, b, c)
#define gt_fma_double(a, b, c) __builtin_fma(a, b, c)
#define gt_floor_float(x) __builtin_floorf(x)
#define gt_floor_double(x) __builtin_floor(x)
#define gt_rint_float(x) __builtin_rintf(x)
#define gt_rint_double(x) __builtin_rint(x)
#define gt_float_bits(x) __builtin_bit_cast(gt_u32, (float)(x))
#define gt_bits_float(x) __builtin_bit_cast(float, (gt_u32)(x))
#define gt_double_high(x) ((gt_u32)(__builtin_bit_cast(gt_u64, (double)(x)) >> 32))
#define gt_double_low(x) ((gt_u32)__builtin_bit_cast(gt_u64, (double)(x)))
#define gt_bits_double(high, low) __builtin_bit_cast(double, (gt_u64)(high) << 32 | (gt_u32)(low))

GT_FUNCTION float gt_half_float(gt_u16 bits) { return (float)__builtin_bit_cast(_Float16, bits); }
GT_FUNCTION gt_u16 gt_float_half(float value) { return __builtin_bit_cast(gt_u16, (_Float16)value); }
GT_FUNCTION gt_u32 gt_float_half2(float low, float high) {
  return gt_float_half(low) | (gt_u32)gt_float_half(high) << 16;
}

// unsafeAtomicAdd's instruction is legal here: kernels get ordinary (coarse-grained) device memory only.
#define gt_atomic_add_int(address, value) atomicAdd(address, value) // the value before
#define gt_shared_add_int(address, value) atomicAdd(address, value) // of shared memory
#define gt_shared_add_float(address, value) atomicAdd(address, value)
#define gt_shared_add_double(address, value) atomicAdd(address, value)
#define gt_atomic_add_float(address, value) atomicAdd(address, value)
#define gt_atomic_add_double(address, value) atomicAdd(address, value)
