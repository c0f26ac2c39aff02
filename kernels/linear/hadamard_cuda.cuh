#pragma once

#include "kernels/cuda/reduce.cuh"

namespace hearth::kernels::cuda {

// Hadamard transform / sqrt(128) of 128 numbers across a warp: lane l holds numbers 4l .. 4l+3. The butterflies and
// their order are those of the host's transform.
__device__ inline void WarpHadamard128(float (&v)[4]) {
  const float a = v[0] + v[1], b = v[0] - v[1], c = v[2] + v[3], d = v[2] - v[3];
  v[0] = a + c;
  v[1] = b + d;
  v[2] = a - c;
  v[3] = b - d;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const float sign = threadIdx.x & distance ? -1.0f : 1.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = fmaf(sign, v[i], __shfl_xor_sync(kAllLanes, v[i], distance));
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] *= 0.088388347648318440550f;
}

}  // namespace hearth::kernels::cuda
