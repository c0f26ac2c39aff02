#pragma once

#include "kernels/kda/kda.h"

namespace hearth::kernels::cuda {

// Segments travel with the launch, so that nothing is allocated or copied; more of them take several launches.
constexpr int kMostSegments = 64;

struct KdaSegmentList {
  KdaSegment at[kMostSegments];
};

// Calls launch(list, count, longest) for every 64 segments; `longest` is their greatest number of rows.
template <typename LaunchFn>
void ForSegmentLists(const KdaSegment* segments, Dim count, LaunchFn launch) {
  KdaSegmentList list;
  for (Dim first = 0; first < count; first += kMostSegments) {
    const int here = static_cast<int>(count - first < kMostSegments ? count - first : kMostSegments);
    Dim longest = 0;
    for (int i = 0; i < here; ++i) {
      list.at[i] = segments[first + i];
      if (list.at[i].row_count > longest) longest = list.at[i].row_count;
    }
    if (longest > 0) launch(list, here, longest);
  }
}

}  // namespace hearth::kernels::cuda
