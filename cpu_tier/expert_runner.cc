#include "cpu_tier/expert_runner.h"

#include <algorithm>

namespace hearth {
namespace {

constexpr size_t kAlign = 64;

size_t RoundUp(size_t value) { return (value + kAlign - 1) / kAlign * kAlign; }

}  // namespace

std::byte* ExpertRunner::Scratch(size_t bytes) {
  if (memory_.size() < bytes + kAlign) memory_.resize(bytes + kAlign);
  return memory_.data() + (kAlign - reinterpret_cast<uintptr_t>(memory_.data()) % kAlign);
}

bool ExpertRunner::Run(const std::vector<kernels::ExpertFfnArgs>& experts, const std::function<bool()>& abandoned) {
  scratch_at_.clear();
  size_t bytes = 0;
  for (const kernels::ExpertFfnArgs& args : experts) {
    scratch_at_.push_back(bytes);
    bytes += RoundUp(static_cast<size_t>(kernels::ExpertScratchBytes(args.expert, args.picks)));
  }
  std::byte* const scratch = Scratch(bytes);
  for (int p = 0; p < kernels::kExpertPhases; ++p) {
    if (abandoned && abandoned()) return false;
    const auto phase = static_cast<kernels::ExpertPhase>(p);
    first_unit_.assign(1, 0);
    for (const kernels::ExpertFfnArgs& args : experts) {
      const auto units = static_cast<uint32_t>(kernels::ExpertUnits(args.expert, args.picks, phase));
      first_unit_.push_back(first_unit_.back() + units);
    }
    team_.ForEach(first_unit_.back(), [&](uint32_t unit) {
      const auto after = std::upper_bound(first_unit_.begin(), first_unit_.end(), unit);
      const auto e = static_cast<size_t>(after - first_unit_.begin()) - 1;
      backend_.expert_unit(experts[e], phase, unit - first_unit_[e], scratch + scratch_at_[e]);
    });
  }
  return true;
}

}  // namespace hearth
