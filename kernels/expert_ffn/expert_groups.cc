#include "kernels/expert_ffn/expert_groups.h"

#include <algorithm>

namespace hearth::kernels {
namespace {

Dim Tiles(const ExpertPiece& piece, const ExpertGroupLimits& limits) {
  return (piece.picks + limits.tile_rows - 1) / limits.tile_rows * limits.expert_tiles;
}

// Pieces of `group` to keep: those of the last full round of tiles when the round that is left is less than half full.
size_t Kept(const ExpertGroup& group, const ExpertGroupLimits& limits) {
  Dim all = 0;
  for (const ExpertPiece& piece : group) all += Tiles(piece, limits);
  const Dim full = all / limits.slots * limits.slots;
  if (full == 0 || 2 * (all - full) >= limits.slots) return group.size();
  size_t keep = group.size();
  while (keep > 1 && all > full) all -= Tiles(group[--keep], limits);
  return keep;
}

}  // namespace

std::vector<ExpertGroup> PlanExpertGroups(std::span<const Dim> picks, const ExpertGroupLimits& limits) {
  std::vector<ExpertPiece> pieces;
  for (size_t job = 0; job < picks.size(); ++job) {
    for (Dim first = 0; first < picks[job]; first += limits.picks) {
      pieces.push_back({static_cast<int>(job), first, std::min(limits.picks, picks[job] - first)});
    }
  }
  std::vector<ExpertGroup> groups;
  for (size_t next = 0; next < pieces.size();) {
    ExpertGroup group;
    Dim rows = 0;
    size_t end = next;
    while (end < pieces.size() && static_cast<int>(group.size()) < limits.experts &&
           (group.empty() || rows + pieces[end].picks <= limits.picks)) {
      rows += pieces[end].picks;
      group.push_back(pieces[end++]);
    }
    if (end < pieces.size()) group.resize(Kept(group, limits));
    next += group.size();
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace hearth::kernels
