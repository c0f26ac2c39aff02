#include "gpu_worker/experts/look_ahead.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/check.h"

namespace hearth {

std::vector<int32_t> ChooseAhead(const int32_t* ids, const kernels::Real* weights, int64_t rows, int top_k, int most,
                                 const std::function<bool(int32_t)>& wanted) {
  std::map<int32_t, double> sums;
  for (int64_t i = 0; i < rows * top_k; ++i) sums[ids[i]] += weights[i];
  std::vector<std::pair<double, int32_t>> order;
  for (const auto& [expert, sum] : sums) {
    if (wanted(expert)) order.emplace_back(-sum, expert);
  }
  std::sort(order.begin(), order.end());
  std::vector<int32_t> chosen;
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(most); ++i) chosen.push_back(order[i].second);
  return chosen;
}

LookAhead::LookAhead(const HomeView& home, const kernels::Backend& backend, int most)
    : home_(home), backend_(backend), arena_(most, home.record_stride(), backend) {}

void LookAhead::Fetch(int layer, std::vector<int32_t> experts) {
  HEARTH_CHECK(experts.size() <= static_cast<size_t>(most()), "more experts than buffers");
  layer_ = layer;
  experts_ = std::move(experts);
  for (size_t i = 0; i < experts_.size(); ++i) {
    backend_.memory->upload(backend_.stream, arena_.slot(static_cast<int32_t>(i)),
                            home_.record(static_cast<uint32_t>(layer), static_cast<uint32_t>(experts_[i])),
                            home_.record_stride());
  }
}

const std::byte* LookAhead::Find(int layer, int32_t expert) const {
  if (layer != layer_) return nullptr;
  const auto it = std::find(experts_.begin(), experts_.end(), expert);
  return it == experts_.end() ? nullptr : arena_.slot(static_cast<int32_t>(it - experts_.begin()));
}

}  // namespace hearth
