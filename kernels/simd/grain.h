#pragma once

#include "kernels/real.h"

namespace hearth::kernels {

// How many indices of a parallel loop are worth a task, given the float operations of one index. A task should last
// ten microseconds or so, since handing one to another thread costs a few.
static inline Dim GrainFor(Dim operations) {
  constexpr Dim kOperationsPerTask = 131072;
  return operations >= kOperationsPerTask ? 1 : kOperationsPerTask / (operations > 0 ? operations : 1);
}

// Rows of the longest of `count` segments.
template <typename Segment>
static inline Dim LongestSegment(const Segment* segments, Dim count) {
  Dim rows = 0;
  for (Dim s = 0; s < count; ++s) rows = segments[s].row_count > rows ? segments[s].row_count : rows;
  return rows;
}

}  // namespace hearth::kernels
