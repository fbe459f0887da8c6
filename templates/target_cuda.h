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

#if __CUDA_ARCH__ >= 800
GT_FUNCTION gt_u32 gt_shared_address(const void *pointer) {
  gt_u32 address;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(pointer));
  return address;
}
// Copies of a vector to shared memory that a thread does not wait for: it closes groups of them, and waits until no more than some of the groups
// that it closed last are under way. (PTX ISA: cp.async.)
GT_FUNCTION void gt_async_copy(gt_vec16 *to, const gt_vec16 *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(gt_shared_address(to)), "l"(from) : "memory");
}
#define gt_async_commit() asm volatile("cp.async.commit_group;" ::: "memory")
#define gt_async_wait(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")
#endif
#if __CUDA_ARCH__ >= 900
// Runs of memory that the hardware copies to shared memory: `arrivals` (gt_u64 in shared memory) counts phases, each over when as many threads as
// it was prepared for have asked for a run of `count` vectors each, and these have come. After a barrier whoever likes waits for a phase, 0 or 1 in turn. (PTX ISA: mbarrier, cp.async.bulk.)
GT_FUNCTION void gt_bulk_prepare(gt_u64 *arrivals, gt_u32 askers) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gt_shared_address(arrivals)), "r"(askers) : "memory");
}
GT_FUNCTION void gt_bulk_prepared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
GT_FUNCTION void gt_bulk_copy(gt_vec16 *to, const gt_vec16 *from, gt_i32 count, gt_u64 *arrivals) {
  const gt_u32 bytes = (gt_u32)count * 16u, barrier = gt_shared_address(arrivals);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
  if (bytes == 0) return;
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(gt_shared_address(to)),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
GT_FUNCTION void gt_bulk_wait(gt_u64 *arrivals, gt_u32 phase) {
  gt_u32 done;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(gt_shared_address(arrivals)), "r"(phase)
                 : "memory");
  } while (!done);
}
#endif

#define gt_atomic_add_int(address, value) atomicAdd(address, value) // the value before
#define gt_shared_add_int(address, value) atomicAdd(address, value) // of shared memory
#define gt_shared_add_float(address, value) atomicAdd(address, value)
#define gt_shared_add_double(address, value) atomicAdd(address, value)
#define gt_atomic_add_float(address, value) atomicAdd(address, value)
#define gt_atomic_add_double(address, value) atomicAdd(address, value)
