#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace hearth {

// How one generation draws its tokens; every value is checked and effective (no "absent" left).
struct SamplingParams {
  float temperature = 1.0f;  // 0: greedy
  float top_p = 1.0f;        // (0, 1]
  int32_t top_k = 0;         // 0: off
  float min_p = 0.0f;        // [0, 1]
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  uint64_t seed = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;  // ascending ids, each once; kBanBias or less bans the id

  bool counts_tokens() const {
    return repetition_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f;
  }
};

constexpr float kBanBias = -100.0f;

}  // namespace hearth
