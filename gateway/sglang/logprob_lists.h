#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/worker_client/engine_types.h"

namespace hearth::sglang {

// Log-probabilities in the SGLang shape: each token as [logprob, token_id, null].

nlohmann::ordered_json LogprobTriple(float logprob, int32_t id);
nlohmann::ordered_json LogprobTriples(const std::vector<engine::TokenLogprob>& list, size_t most);

// What a scoring asked for.
struct ScoreShape {
  uint32_t start = 0;  // first token whose distribution is listed; at most the number of tokens
  uint32_t top = 0;    // entries of the top lists; 0: no top lists
  bool chosen = false;
  bool logprobs = false;
  bool hashes = false;
};

// Puts the lists of a scored sequence into `meta`. `rows` are all rows from FirstRow(shape) to the last, in order.
void AddScoreLists(const ScoreShape& shape, const std::vector<int32_t>& ids, const std::vector<engine::ScoreRow>& rows,
                   nlohmann::ordered_json& meta);

// The first row that is needed: token j is predicted by row j - 1.
inline uint32_t FirstRow(const ScoreShape& shape) { return shape.start == 0 ? 0 : shape.start - 1; }

// 16 lower-case hex digits.
std::string HashText(uint64_t hash);

}  // namespace hearth::sglang
