#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gpu_worker/scheduler/sampling_params.h"

namespace hearth {

// What the penalties of a generation look at.
struct TokenHistory {
  std::unordered_set<int32_t> prompt;               // for the repetition penalty
  std::unordered_map<int32_t, uint32_t> generated;  // times each id was generated
};

// Room that calls share; its content between calls means nothing.
struct SamplerScratch {
  std::vector<float> logits;
  std::vector<int32_t> ids;
  std::vector<double> weights;
};

// Draws the token at `position` (absolute, counted from the first prompt token) from a logits row. Pure: the same
// arguments give the same id. Order of work: repetition penalty (prompt and generated), frequency and presence penalty
// (generated), bias and bans, the mask, temperature, top_k, top_p over what top_k left, min_p relative to the most
// likely id. Ties go to the lower id. `allowed` has a bit for each id that may be drawn; empty: all may. Returns
// kUnusableRow when the row holds NaN or +inf, or nothing but -inf; kNothingAllowed when bans and mask leave nothing of
// it.
int32_t SampleToken(std::span<const float> logits, const SamplingParams& params, const TokenHistory& history,
                    uint64_t position, SamplerScratch& scratch, std::span<const uint64_t> allowed = {});
constexpr int32_t kUnusableRow = -1, kNothingAllowed = -2;

}  // namespace hearth
