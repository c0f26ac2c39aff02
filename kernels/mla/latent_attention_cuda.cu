#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/kv_element.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/mla/attended_row.h"
#include "kernels/mla/latent_attention_cuda.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 128;  // and ranks of a tile
constexpr int kWarps = kThreads / 32;

// Shared memory: [rank] query, [rank] mixture.
__global__ void __launch_bounds__(kThreads) AttendAnyShapeKernel(LatentAttentionArgs args) {
  extern __shared__ float shared[];
  __shared__ float weight[kThreads];
  __shared__ Dim slots[kThreads];
  const Dim row = blockIdx.x / args.heads, rank = args.rank;
  const int tid = static_cast<int>(threadIdx.x), warp = tid / 32, lane = tid % 32;
  const AttendedRow attended(args, row);
  const float* ql = args.ql + static_cast<Dim>(blockIdx.x) * rank;
  float *query = shared, *mixed = shared + rank;
  for (Dim i = tid; i < rank; i += kThreads) query[i] = ql[i], mixed[i] = 0;
  float top = -INFINITY, sum = 0;

  for (uint32_t begin = 0; begin < attended.count; begin += kThreads) {
    const int count = static_cast<int>(min(attended.count - begin, static_cast<uint32_t>(kThreads)));
    __syncthreads();  // the tile before has been used
    if (tid < count) slots[tid] = attended.Slot(begin + tid) * rank;
    __syncthreads();
    for (int j = warp; j < count; j += kWarps) {
      float dot = 0;
      for (Dim i = lane; i < rank; i += 32) {
        dot = fmaf(query[i], LoadKvElement(args.pool, args.kv_type, slots[j] + i), dot);
      }
      dot = WarpSum(dot);
      if (lane == 0) weight[j] = args.scale * dot;
    }
    __syncthreads();
    float highest = -INFINITY;
    for (int j = lane; j < count; j += 32) highest = fmaxf(highest, weight[j]);
    const float new_top = fmaxf(top, WarpMax(highest));  // the same in every warp
    __syncthreads();
    if (tid < count) weight[tid] = expf(weight[tid] - new_top);
    __syncthreads();
    const float rescale = expf(top - new_top);
    float part = 0;
    for (int j = lane; j < count; j += 32) part += weight[j];
    sum = fmaf(sum, rescale, WarpSum(part));
    top = new_top;
    for (Dim i = tid; i < rank; i += kThreads) {
      float m = mixed[i] * rescale;
      for (int j = 0; j < count; ++j) m = fmaf(weight[j], LoadKvElement(args.pool, args.kv_type, slots[j] + i), m);
      mixed[i] = m;
    }
  }
  float* ol = args.ol + static_cast<Dim>(blockIdx.x) * rank;
  for (Dim i = tid; i < rank; i += kThreads) ol[i] = sum > 0 ? mixed[i] / sum : 0.0f;
}

}  // namespace

void AttendAnyShape(cudaStream_t stream, const LatentAttentionArgs& args) {
  const size_t shared = static_cast<size_t>(args.rank) * 2 * sizeof(float);
  AttendAnyShapeKernel<<<static_cast<unsigned>(args.rows * args.heads), kThreads, shared, stream>>>(args);
  LaunchedOrDie("LatentAttention");
}

void LatentAttention(void* stream, const LatentAttentionArgs& args) {
  if (args.rows == 0) return;
  const auto s = static_cast<cudaStream_t>(stream);
  if (args.rank != kTensorRank || args.kv_type != KvType::kF16) {
    AttendAnyShape(s, args);
  } else if (args.phase == Phase::kPrefill) {
    AttendPrefill512(s, args);
  } else {
    AttendDecode512(s, args);
  }
}

}  // namespace hearth::kernels::cuda
