#pragma once

#include "kernels/cuda/host_device.h"
#include "kernels/kda/kda.h"

namespace hearth::kernels {

// How the rows of all segments are taken in portions of a fixed number of blocks of up to 64 tokens.

// Consecutive blocks of one segment. All but the first begin at a multiple of 64 of the sequence.
struct KdaRun {
  Dim row = 0;  // first row
  int rows = 0;
  int first_rows = 0;  // rows of the first block
  int slot = 0;        // place of the first block in the portion
  int blocks = 0;
  float* state = nullptr;

  HEARTH_HD int BlockBegin(int block) const {
    return block == 0 ? 0 : first_rows + (block - 1) * static_cast<int>(kKdaBlock);
  }
  HEARTH_HD int BlockRows(int block) const {
    const int left = rows - BlockBegin(block), full = block == 0 ? first_rows : static_cast<int>(kKdaBlock);
    return left < full ? left : full;
  }
};

constexpr int kMostKdaRuns = 64;
struct KdaRuns {
  KdaRun at[kMostKdaRuns];
  int count = 0;
  int slots = 0;  // blocks of all runs
};

struct KdaCursor {
  Dim segment = 0, row = 0;  // row within the segment
};

// The next portion of up to `slots` blocks; no runs when everything is taken. A segment is in at most one run of a
// portion, since its blocks follow each other.
KdaRuns TakeKdaRuns(const KdaSegment* segments, Dim segment_count, int slots, KdaCursor* at);

}  // namespace hearth::kernels
