#include <algorithm>

#include "kernels/cuda/scratch.h"
#include "kernels/cuda/vec4.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/kda/kda_block.cuh"

namespace hearth::kernels::cuda {
namespace {

// Blocks times heads that are prepared at once: enough to fill a GPU, and 68 MB, so that most of it is read back from
// the cache. Which blocks share a launch shows in no bit.
constexpr Dim kUnits = 512;

}  // namespace

void KdaChunked(void* stream, const KdaRuleArgs& args) {
  // Wider heads than the model's take the walk token by token.
  if (args.dim > kda_block::kChannels) return KdaRecurrent(stream, args);
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  bool aligned = args.dim % 4 == 0 && IsAligned16(args.qkv) && IsAligned16(args.g) && IsAligned16(args.o);
  for (Dim i = 0; i < args.segment_count; ++i) aligned = aligned && IsAligned16(args.segments[i].state);
  const int slots = static_cast<int>(std::clamp<Dim>(kUnits / args.heads, 1, 64));
  float* blocks =
      static_cast<float*>(Scratch(stream, static_cast<size_t>(slots * args.heads) * kda_block::kFloats * sizeof(float)));
  KdaCursor at;
  for (;;) {
    const KdaRuns runs = TakeKdaRuns(args.segments, args.segment_count, slots, &at);
    if (runs.count == 0) break;
    PrepareKdaBlocks(on, runs, args, aligned, blocks);
    AdvanceKdaStates(on, runs, args, aligned, blocks);
  }
}

}  // namespace hearth::kernels::cuda
