#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/real.h"

namespace hearth::kernels {

// Picks [first, first + picks) of a job.
struct ExpertPiece {
  int job = 0;
  Dim first = 0, picks = 0;
};
using ExpertGroup = std::vector<ExpertPiece>;

struct ExpertGroupLimits {
  int experts = 1;       // decoded at a time
  Dim picks = 4096;      // rows at a time
  Dim tile_rows = 128;   // rows of a GEMM tile
  Dim expert_tiles = 1;  // tiles of an expert per row tile
  Dim slots = 1;         // tiles that a GPU runs at once
};

// Cuts the jobs of a batch into groups that are computed together, in order. Jobs without picks are left out; a job
// with more picks than a group may have is cut. A group that would leave most of the GPU idle in its last round of
// tiles gives its last experts to the next group. No result depends on the grouping.
std::vector<ExpertGroup> PlanExpertGroups(std::span<const Dim> picks, const ExpertGroupLimits& limits);

}  // namespace hearth::kernels
