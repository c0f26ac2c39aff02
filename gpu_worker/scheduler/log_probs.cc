#include "gpu_worker/scheduler/log_probs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "common/base/hash64.h"

namespace hearth {

RowLogProbs::RowLogProbs(std::span<const float> logits) : logits_(logits) {
  float most = -std::numeric_limits<float>::infinity();
  bool nan = false;
  for (float logit : logits) {
    nan |= std::isnan(logit);
    most = std::max(most, logit);
  }
  finite_ = !nan && std::isfinite(most);
  if (!finite_) return;
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  log_sum_ = most + std::log(sum);
}

std::vector<TokenLogprob> RowLogProbs::Top(int n) const {
  const size_t count = std::min(static_cast<size_t>(std::max(n, 0)), logits_.size());
  if (count == 0) return {};
  const auto better = [this](int32_t a, int32_t b) {
    const float x = logits_[static_cast<size_t>(a)], y = logits_[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  // The heap's top is the worst one kept, so most ids of a long row cost one comparison.
  std::priority_queue<int32_t, std::vector<int32_t>, decltype(better)> kept(better);
  for (int32_t id = 0; id < static_cast<int32_t>(logits_.size()); ++id) {
    if (kept.size() < count) {
      kept.push(id);
    } else if (better(id, kept.top())) {
      kept.pop();
      kept.push(id);
    }
  }
  std::vector<TokenLogprob> top(count);
  for (size_t i = count; i-- > 0; kept.pop()) top[i] = {kept.top(), Of(kept.top())};
  return top;
}

uint64_t LogitsHash(std::span<const float> logits) { return Hash64(logits.data(), logits.size_bytes()); }

}  // namespace hearth
