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

// Fills `runs` with up to `slots` blocks, from row `done` of segment `next` on, and moves both forward. A segment is in
// at most one run, since its blocks follow each other.
void TakeRuns(const KdaRuleArgs& args, int slots, Dim* next, Dim* done, KdaRuns* runs) {
  runs->count = runs->slots = 0;
  while (*next < args.segment_count && runs->slots < slots && runs->count < kMostKdaRuns) {
    const KdaSegment& segment = args.segments[*next];
    const Dim left = segment.row_count - *done;
    if (left > 0) {
      const Dim first = std::min(kKdaBlock - (segment.position + *done) % kKdaBlock, left);
      const Dim blocks = std::min<Dim>(1 + (left - first + kKdaBlock - 1) / kKdaBlock, slots - runs->slots);
      KdaRun& run = runs->at[runs->count++];
      run.row = segment.row_begin + *done;
      run.rows = static_cast<int>(std::min(left, first + (blocks - 1) * kKdaBlock));
      run.first_rows = static_cast<int>(first);
      run.slot = runs->slots;
      run.blocks = static_cast<int>(blocks);
      run.state = segment.state;
      runs->slots += run.blocks;
      *done += run.rows;
    }
    if (*done == segment.row_count) {
      ++*next;
      *done = 0;
    }
  }
}

}  // namespace

void KdaChunked(void* stream, const KdaRuleArgs& args) {
  // Wider heads than the model's take the walk token by token.
  if (args.dim > kda_block::kChannels) return KdaRecurrent(stream, args);
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  bool aligned = args.dim % 4 == 0 && IsAligned16(args.qkv) && IsAligned16(args.g) && IsAligned16(args.o);
  for (Dim i = 0; i < args.segment_count; ++i) aligned = aligned && IsAligned16(args.segments[i].state);
  const int slots = static_cast<int>(std::clamp<Dim>(kUnits / args.heads, 1, 64));
  float* blocks =
      static_cast<float*>(Scratch(static_cast<size_t>(slots * args.heads) * kda_block::kFloats * sizeof(float)));
  Dim next = 0, done = 0;
  for (KdaRuns runs; TakeRuns(args, slots, &next, &done, &runs), runs.count > 0;) {
    PrepareKdaBlocks(on, runs, args, aligned, blocks);
    AdvanceKdaStates(on, runs, args, aligned, blocks);
  }
}

}  // namespace hearth::kernels::cuda
