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
// (generated), bias and bans, temperature, top_k, top_p over what top_k left, min_p relative to the most likely id.
// Ties go to the lower id. Returns -1 when the row holds NaN, or nothing can be drawn from it.
int32_t SampleToken(std::span<const float> logits, const SamplingParams& params, const TokenHistory& history,
                    uint64_t position, SamplerScratch& scratch);

}  // namespace hearth
