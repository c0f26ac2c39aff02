#include "gpu_worker/experts/placement.h"

#include <algorithm>

namespace hearth {
namespace {

// Misses that may go to the CPU, the most suitable first: few picks (a row is dear there), then cold ones.
std::vector<size_t> Candidates(std::span<const PlacementInput> experts) {
  std::vector<size_t> order;
  for (size_t i = 0; i < experts.size(); ++i) {
    if (!experts[i].resident && !experts[i].ahead && !experts[i].admitted) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (experts[a].picks != experts[b].picks) return experts[a].picks < experts[b].picks;
    return experts[a].score < experts[b].score;
  });
  return order;
}

}  // namespace

std::vector<Source> Place(std::span<const PlacementInput> experts, const CostConstants& cost,
                          const PlacementRules& rules) {
  const bool cpu = rules.cpu_up && rules.cpu_lane != CpuLaneMode::kNever;
  if (cpu && rules.cpu_lane == CpuLaneMode::kAlways) return std::vector<Source>(experts.size(), Source::kCpu);

  std::vector<Source> sources(experts.size(), Source::kPcie);
  int hits = 0;
  for (size_t i = 0; i < experts.size(); ++i) {
    if (!experts[i].resident && !experts[i].ahead) continue;
    sources[i] = experts[i].resident ? Source::kHit : Source::kAhead;
    ++hits;
  }
  if (!cpu) return sources;

  const std::vector<size_t> candidates = Candidates(experts);
  const size_t misses = experts.size() - static_cast<size_t>(hits);
  double weight = 0, best_time = hits * cost.t_hit + static_cast<double>(misses) * cost.t_zc;
  size_t best = 0;
  for (size_t n = 1; n <= candidates.size(); ++n) {
    weight += CpuWeight(cost, experts[candidates[n - 1]].picks);
    const double gpu = hits * cost.t_hit + static_cast<double>(misses - n) * cost.t_zc;
    const double time = std::max(gpu, CpuSeconds(cost, weight)) + cost.late;
    if (time < best_time) {
      best_time = time;
      best = n;
    }
  }
  for (size_t n = 0; n < best; ++n) sources[candidates[n]] = Source::kCpu;
  return sources;
}

}  // namespace hearth
