#pragma once

#include <cuda_fp16.h>

#include "kernels/mla/mla.h"

namespace hearth::kernels::cuda {

// Device twins of kernels/mla/kv_element.h, with the same bits.
__device__ __forceinline__ void StoreKvElement(void* pool, KvType type, Dim index, float value) {
  if (type == KvType::kF16) {
    const unsigned sign = (__float_as_uint(value) >> 16) & 0x8000u;
    static_cast<unsigned short*>(pool)[index] = isnan(value) ? static_cast<unsigned short>(sign | 0x7E00u)
                                                             : __half_as_ushort(__float2half_rn(value));
  } else {
    static_cast<float*>(pool)[index] = value;
  }
}

__device__ __forceinline__ float LoadKvElement(const void* pool, KvType type, Dim index) {
  return type == KvType::kF16 ? __half2float(static_cast<const __half*>(pool)[index])
                              : static_cast<const float*>(pool)[index];
}

}  // namespace hearth::kernels::cuda
