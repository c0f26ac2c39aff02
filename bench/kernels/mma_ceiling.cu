#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/mma_device.cuh"

namespace hearth::bench {
namespace {

constexpr int kChains = 16, kSteps = 4096, kThreads = 256;

// Independent chains from registers: what mma.sync alone reaches.
__global__ void __launch_bounds__(kThreads) MmaOnly(float* out) {
  float sums[kChains][4] = {};
  const uint32_t a[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) kernels::cuda::MultiplyAdd(sums[c], a, a[c % 4], step);
  }
  float sum = 0.0f;
  for (int c = 0; c < kChains; ++c) sum += sums[c][0] + sums[c][1] + sums[c][2] + sums[c][3];
  if (sum == 1234.5f) out[0] = sum;
}

}  // namespace

double LaunchMmaOnly(cudaStream_t stream, float* out, int blocks) {
  MmaOnly<<<blocks, kThreads, 0, stream>>>(out);
  kernels::LaunchedOrDie("MmaOnly");
  return 2.0 * 16 * 8 * 16 * kChains * kSteps * (kThreads / 32) * blocks;
}

}  // namespace hearth::bench
