#pragma once

#include <cuda_fp16.h>

#include <cstdint>

// Warp-wide instructions of compute capability 8.0 and later, named by what they do. T = lane % 4, G = lane / 4.
namespace hearth::kernels::cuda {

// c += a b on tensor cores: a is 16 x 16, b is 16 x 8, f16 in, f32 sums.
//   a[0..3]: (row G, columns 2T, 2T+1), (row G+8, same), (row G, columns +8), (row G+8, columns +8)
//   b0, b1:  (rows 2T, 2T+1 of column G), (rows +8)
//   c[0..3]: (row G, columns 2T, 2T+1), (row G+8, same)
__device__ __forceinline__ void MmaF16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 blocks of 16-bit numbers from shared memory. Lanes 8i..8i+7 name the rows of block i (16 bytes each,
// aligned); r[i] receives (row G, columns 2T, 2T+1) of block i, or of its transpose.
__device__ __forceinline__ void LoadMatrix4(uint32_t (&r)[4], const void* row) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void LoadMatrix4Transposed(uint32_t (&r)[4], const void* row) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// 16 bytes from global to shared memory, asynchronously; past the first-level cache.
__device__ __forceinline__ void CopyAsync16(void* to, const void* from) {
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for this thread's committed copies; others see them after a barrier.
__device__ __forceinline__ void WaitForCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Two numbers as one f16 pair, the first in the low half, and what the rounding left over, likewise.
__device__ __forceinline__ uint32_t PackF16(float a, float b) {
  return static_cast<uint32_t>(__half_as_ushort(__float2half_rn(a))) |
         static_cast<uint32_t>(__half_as_ushort(__float2half_rn(b))) << 16;
}
__device__ __forceinline__ float RoundF16(float x) { return __half2float(__float2half_rn(x)); }
__device__ __forceinline__ uint32_t PackF16Rest(float a, float b) { return PackF16(a - RoundF16(a), b - RoundF16(b)); }

}  // namespace hearth::kernels::cuda
