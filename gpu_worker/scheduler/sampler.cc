#include "gpu_worker/scheduler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu_worker/scheduler/counter_random.h"

namespace hearth {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

void ApplyPenalties(const SamplingParams& params, const TokenHistory& history, std::span<float> logits) {
  if (params.repetition_penalty != 1.0f) {
    const auto punish = [&](int32_t id) {
      float& logit = logits[static_cast<size_t>(id)];
      logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    };
    for (int32_t id : history.prompt) punish(id);
    for (const auto& [id, count] : history.generated) {
      if (!history.prompt.contains(id)) punish(id);
    }
  }
  for (const auto& [id, count] : history.generated) {
    logits[static_cast<size_t>(id)] -= params.frequency_penalty * static_cast<float>(count) + params.presence_penalty;
  }
}

void ApplyBias(const SamplingParams& params, std::span<float> logits) {
  for (const auto& [id, bias] : params.logit_bias) {
    float& logit = logits[static_cast<size_t>(id)];
    logit = bias <= kBanBias ? kMinusInfinity : logit + bias;
  }
}

// NaN stays what it is, so that a broken row is seen whatever the mask says.
void ApplyMask(std::span<const uint64_t> allowed, std::span<float> logits) {
  for (size_t id = 0; id < logits.size(); ++id) {
    if ((allowed[id / 64] >> (id % 64) & 1) == 0 && !std::isnan(logits[id])) logits[id] = kMinusInfinity;
  }
}

bool AllMinusInfinity(std::span<const float> logits) {
  return std::all_of(logits.begin(), logits.end(), [](float logit) { return logit == kMinusInfinity; });
}

// Brings the best `params.top_k`, then the top_p and min_p part of them, to the front of scratch.ids in falling order;
// returns how many. weights[i] belongs to ids[i].
size_t Shortlist(const SamplingParams& params, std::span<const float> logits, float best, SamplerScratch& scratch) {
  std::vector<int32_t>& ids = scratch.ids;
  const auto weight = [&](int32_t id) {
    return std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) - best) / params.temperature);
  };
  // The heap's front is the worst one not yet taken apart, so `worse` orders it; ties: the higher id is worse.
  const auto worse = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x < y : a > b;
  };
  const auto better = [&](int32_t a, int32_t b) { return worse(b, a); };

  size_t limit = ids.size();
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < limit) {
    limit = static_cast<size_t>(params.top_k);
    std::nth_element(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(limit - 1), ids.end(), better);
    ids.resize(limit);
    // nth_element leaves an order of its own; sums must not depend on it.
    std::sort(ids.begin(), ids.end());
  }
  double total = 0;
  for (int32_t id : ids) total += weight(id);

  // Taking ids one after the other off a heap costs little when few of a long row are wanted.
  std::make_heap(ids.begin(), ids.end(), worse);
  scratch.weights.clear();
  double sum = 0;
  size_t taken = 0;
  while (taken < limit) {
    const double w = weight(ids.front());
    if (taken > 0 && (sum >= params.top_p * total || w < params.min_p || w == 0)) break;
    std::pop_heap(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(taken), worse);
    scratch.weights.push_back(w);
    sum += w;
    ++taken;
  }
  // pop_heap collects them at the back, the best one last.
  std::reverse(ids.begin(), ids.end());
  return taken;
}

int32_t Draw(std::span<const int32_t> ids, std::span<const double> weights, double uniform) {
  double total = 0;
  for (double w : weights) total += w;
  const double target = uniform * total;
  double sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    sum += weights[i];
    if (target < sum) return ids[i];
  }
  // Rounding can leave the target at the sum itself.
  for (size_t i = ids.size(); i-- > 0;) {
    if (weights[i] > 0) return ids[i];
  }
  return kUnusableRow;
}

}  // namespace

int32_t SampleToken(std::span<const float> raw, const SamplingParams& params, const TokenHistory& history,
                    uint64_t position, SamplerScratch& scratch, std::span<const uint64_t> allowed) {
  std::span<const float> logits = raw;
  if (params.counts_tokens() || !params.logit_bias.empty() || !allowed.empty()) {
    scratch.logits.assign(raw.begin(), raw.end());
    if (params.counts_tokens()) ApplyPenalties(params, history, scratch.logits);
    ApplyBias(params, scratch.logits);
    if (!allowed.empty()) ApplyMask(allowed, scratch.logits);
    logits = scratch.logits;
  }
  int32_t best = -1;
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    const float logit = logits[static_cast<size_t>(id)];
    if (std::isnan(logit)) return kUnusableRow;
    if (best < 0 || logit > logits[static_cast<size_t>(best)]) best = id;
  }
  if (best < 0) return kUnusableRow;
  if (!std::isfinite(logits[static_cast<size_t>(best)])) {
    const bool masked = logits[static_cast<size_t>(best)] == kMinusInfinity && !AllMinusInfinity(raw);
    return masked ? kNothingAllowed : kUnusableRow;
  }
  if (params.temperature == 0) return best;

  const float best_logit = logits[static_cast<size_t>(best)];
  scratch.ids.clear();
  for (int32_t id = 0; id < static_cast<int32_t>(logits.size()); ++id) {
    if (logits[static_cast<size_t>(id)] > kMinusInfinity) scratch.ids.push_back(id);
  }
  const double uniform = UniformAt(params.seed, position);
  const bool narrowed = params.top_p < 1.0f || params.min_p > 0.0f || params.top_k > 0;
  size_t count = scratch.ids.size();
  if (narrowed) {
    count = Shortlist(params, logits, best_logit, scratch);
  } else {
    scratch.weights.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const double logit = logits[static_cast<size_t>(scratch.ids[i])];
      scratch.weights[i] = std::exp((logit - best_logit) / params.temperature);
    }
  }
  return Draw(std::span(scratch.ids).first(count), scratch.weights, uniform);
}

}  // namespace hearth
