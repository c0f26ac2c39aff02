#include <cuda_runtime.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/ordered_key.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda_ops.h"
#include "kernels/router/router_logits.cuh"

namespace hearth::kernels::cuda {
namespace {

// One warp per row. Shared memory: [experts] scores, [experts] keys of the choice.
__global__ void __launch_bounds__(32) RouterPick(RouterArgs args, const float* logits) {
  extern __shared__ float shared[];
  AwaitKernelsBefore();
  const int experts = static_cast<int>(args.experts), lane = static_cast<int>(threadIdx.x);
  float* score = shared;
  uint32_t* key = reinterpret_cast<uint32_t*>(shared + experts);
  const Dim row = blockIdx.x;
  for (int e = lane; e < experts; e += 32) {
    const float s = 1.0f / (1.0f + expf(-logits[row * experts + e]));
    score[e] = s;
    key[e] = OrderedKey(s + args.bias[e]);
  }
  __syncwarp();

  // The largest key, ties to the lower expert; a taken key becomes 0, which no finite number has.
  for (Dim k = 0; k < args.top_k; ++k) {
    uint32_t best = 0;
    int best_e = experts;
    for (int e = lane; e < experts; e += 32) {
      if (key[e] > best) best = key[e], best_e = e;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
      const uint32_t other = __shfl_xor_sync(kAllLanes, best, offset);
      const int other_e = __shfl_xor_sync(kAllLanes, best_e, offset);
      if (other > best || (other == best && other_e < best_e)) best = other, best_e = other_e;
    }
    if (lane == 0 && best_e < experts) key[best_e] = 0;
    __syncwarp();
  }

  float sum = 0;
  for (int base = 0; base < experts; base += 32) {
    const int e = base + lane;
    const float s = e < experts ? score[e] : 0.0f;
    for (unsigned taken = __ballot_sync(kAllLanes, e < experts && key[e] == 0); taken != 0; taken &= taken - 1) {
      sum += __shfl_sync(kAllLanes, s, __ffs(static_cast<int>(taken)) - 1);
    }
  }
  int before = 0;
  for (int base = 0; base < experts; base += 32) {
    const int e = base + lane;
    const bool mine = e < experts && key[e] == 0;
    const unsigned taken = __ballot_sync(kAllLanes, mine);
    const Dim place = before + __popc(taken & ((1u << lane) - 1));
    if (mine && place < args.top_k) {
      args.ids[row * args.top_k + place] = e;
      args.weights[row * args.top_k + place] = args.scale * score[e] / (sum + 1e-20f);
    }
    before += __popc(taken);
  }
}

}  // namespace

void Router(void* stream, const RouterArgs& args) {
  if (args.rows == 0) return;
  const auto s = static_cast<cudaStream_t>(stream);
  auto* logits = static_cast<float*>(Scratch(stream, static_cast<size_t>(args.rows * args.experts) * sizeof(float)));
  RouterLogits(s, args, logits);
  const size_t shared = static_cast<size_t>(args.experts) * 2 * sizeof(float);
  LaunchEarly("RouterPick", RouterPick, dim3(static_cast<unsigned>(args.rows)), 32, shared, s, args, logits);
}

}  // namespace hearth::kernels::cuda
