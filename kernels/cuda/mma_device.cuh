#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace hearth::kernels::cuda {

// The instructions of sm_80 and later that products on tensor cores are made of.

__device__ inline uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// 16 bytes from global to shared memory, both aligned; zeros if `valid` is false (the address is not read then).
__device__ inline void CopyAsync16(uint32_t shared, const void* global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
__device__ inline void CommitCopies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
// Waits until at most kPending of the thread's latest groups are under way.
template <int kPending>
__device__ inline void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// Four 8x8 matrices of fp16: lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void LoadMatrices(uint32_t shared, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}

// The same, each matrix transposed.
__device__ inline void LoadMatricesTransposed(uint32_t shared, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared)
               : "memory");
}

__device__ inline uint4 LoadShared16(uint32_t shared) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(shared)
               : "memory");
  return v;
}

// d += a b with a [16, 16] and b [16, 8] in fp16, d [16, 8] in fp32. Lane l holds, with g = l / 4 and q = l % 4, of d rows
// g (d[0], d[1]) and g + 8 (d[2], d[3]), columns 2q and 2q + 1.
__device__ inline void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers as an fp16 pair, the first in the low half, and what the rounding left over, likewise.
__device__ inline uint32_t PackF16(float a, float b) {
  return static_cast<uint32_t>(__half_as_ushort(__float2half_rn(a))) |
         static_cast<uint32_t>(__half_as_ushort(__float2half_rn(b))) << 16;
}
__device__ inline float RoundF16(float x) { return __half2float(__float2half_rn(x)); }
__device__ inline uint32_t PackF16Rest(float a, float b) { return PackF16(a - RoundF16(a), b - RoundF16(b)); }

}  // namespace hearth::kernels::cuda
