#include "kernels/kda/kda_runs.h"

#include <algorithm>

namespace hearth::kernels {

KdaRuns TakeKdaRuns(const KdaSegment* segments, Dim segment_count, int slots, KdaCursor* at) {
  KdaRuns runs;
  while (at->segment < segment_count && runs.slots < slots && runs.count < kMostKdaRuns) {
    const KdaSegment& segment = segments[at->segment];
    const Dim left = segment.row_count - at->row;
    if (left > 0) {
      const Dim first = std::min(kKdaBlock - (segment.position + at->row) % kKdaBlock, left);
      const Dim blocks = std::min<Dim>(1 + (left - first + kKdaBlock - 1) / kKdaBlock, slots - runs.slots);
      KdaRun& run = runs.at[runs.count++];
      run.row = segment.row_begin + at->row;
      run.rows = static_cast<int>(std::min(left, first + (blocks - 1) * kKdaBlock));
      run.first_rows = static_cast<int>(first);
      run.slot = runs.slots;
      run.blocks = static_cast<int>(blocks);
      run.state = segment.state;
      runs.slots += run.blocks;
      at->row += run.rows;
    }
    if (at->row == segment.row_count) *at = {at->segment + 1, 0};
  }
  return runs;
}

}  // namespace hearth::kernels
