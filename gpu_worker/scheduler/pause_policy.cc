#include "gpu_worker/scheduler/pause_policy.h"

#include <algorithm>

namespace hearth {

std::optional<size_t> PauseVictim(std::span<const PauseCandidate> holders) {
  if (holders.empty()) return std::nullopt;
  const auto youngest =
      std::max_element(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
  if (youngest->in_chunk) return std::nullopt;
  return static_cast<size_t>(youngest - holders.begin());
}

}  // namespace hearth
