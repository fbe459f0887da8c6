// CUDA C++ for NVRTC. No header is included: everything used is built into the compiler.
#pragma nv_diag_suppress 177 // functions that a kernel does not use
typedef unsigned short gt_u16;
typedef unsigned int gt_u32;
typedef int gt_i32;
typedef long long gt_i64;
typedef unsigned long long gt_u64;
typedef uint4 gt_vec16;
typedef uint2 gt_vec8;

#define GT_GLOBAL
#define GT_SHARED __shared__
#define GT_RESTRICT __restrict__
#define GT_TABLE static __device__ const
#define GT_TABLE_POINTER(type) const type *
#define GT_ALIGNED16 __align__(16)
#define GT_FUNCTION static __device__ __forceinline__
#define GT_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define gt_block() ((gt_u64)blockIdx.y * gridDim.x + blockIdx.x)
#define gt_blocks() ((gt_u64)gridDim.y * gridDim.x)
#define gt_thread() threadIdx.x
#define gt_barrier() __syncthreads()
#define gt_barrier_global() __syncthreads() // for what the block wrote to global memory too
#define GT_STORE(type, address, value) (*(type *)(address) = (value))

#define gt_fma_float(a, b, c) __fmaf_rn(a, b, c)
#define gt_fma_double(a, b, c) __fma_rn(a, b, c)
#define gt_floor_float(x) floorf(x)
#define gt_floor_double(x) floor((double)(x))
#define gt_rint_float(x) rintf(x)
#define gt_rint_double(x) rint((double)(x))
#define gt_float_bits(x) __float_as_uint(x)
#define gt_bits_float(x) __uint_as_float(x)
#define gt_double_high(x) ((gt_u32)__double2hiint(x))
#define gt_double_low(x) ((gt_u32)__double2loint(x))
#define gt_bits_double(high, low) __hiloint2double((int)(high), (int)(low))

GT_FUNCTION float gt_half_float(gt_u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
GT_FUNCTION gt_u16 gt_float_half(float value) {
  gt_u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
GT_FUNCTION gt_u32 gt_float_half2(float low, float high) {
#if __CUDA_ARCH__ >= 800
  gt_u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return gt_float_half(low) | (gt_u32)gt_float_half(high) << 16;
#endif
}
#if __CUDA_ARCH__ >= 800
#define GT_NATIVE_BFLOAT2 1
GT_FUNCTION gt_u32 gt_float_bfloat2(float low, float high) {
  gt_u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
#endif

#define gt_atomic_add_int(address, value) atomicAdd(address, value) // the value before
#define gt_shared_add_int(address, value) atomicAdd(address, value) // of shared memory
#define gt_shared_add_float(address, value) atomicAdd(address, value)
#define gt_shared_add_double(address, value) atomicAdd(address, value)
#define gt_atomic_add_float(address, value) atomicAdd(address, value)
#define gt_atomic_add_double(address, value) atomicAdd(address, value)
