#pragma once

#include <vector>

#include "gpu_worker/scheduler/request.h"
#include "tests/gpu_worker/scheduler/fake_engine.h"

namespace hearth {

// What FakeEngine must lead to, worked out without a scheduler.

inline uint64_t StateAfter(std::span<const int32_t> tokens) {
  uint64_t state = 7;
  for (int32_t token : tokens) state = FakeEngine::After(state, token);
  return state;
}

// The greedy continuation, without a stop id at its end.
inline std::vector<int32_t> GreedyTokens(const RequestSpec& spec, int vocab) {
  std::vector<int32_t> out;
  std::vector<float> logits(static_cast<size_t>(vocab));
  uint64_t state = StateAfter(spec.tokens);
  const GenerateSpec& generate = *spec.generate();
  while (static_cast<int64_t>(out.size()) < generate.max_tokens) {
    FakeEngine::Logits(state, logits);
    const auto id = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (std::find(generate.stop_ids.begin(), generate.stop_ids.end(), id) != generate.stop_ids.end()) break;
    out.push_back(id);
    state = FakeEngine::After(state, id);
  }
  return out;
}

inline std::vector<int32_t> Tokens(int64_t count, uint64_t seed, int vocab = 40) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(
        static_cast<int32_t>(Mix64(seed * 1000003 + static_cast<uint64_t>(i)) % static_cast<uint64_t>(vocab)));
  }
  return tokens;
}

inline RequestSpec Greedy(std::vector<int32_t> prompt, int64_t max_tokens, std::vector<int32_t> stop_ids = {}) {
  GenerateSpec generate;
  generate.max_tokens = max_tokens;
  generate.sampling.temperature = 0;
  generate.stop_ids = std::move(stop_ids);
  return RequestSpec{.tokens = std::move(prompt), .kind = std::move(generate)};
}

inline RequestSpec Scored(std::vector<int32_t> ids, ScoreSpec score) {
  return RequestSpec{.tokens = std::move(ids), .logits_hash = true, .kind = std::move(score)};
}

// Everything that an outbox holds.
struct Received {
  std::vector<int32_t> tokens;
  std::vector<ScoreRowOutput> rows;
  int outcomes = 0;
  Outcome outcome;

  void Take(Output output) {
    if (auto* token = std::get_if<TokenOutput>(&output)) tokens.push_back(token->id);
    if (auto* block = std::get_if<ScoreRows>(&output)) rows.insert(rows.end(), block->begin(), block->end());
    if (auto* end = std::get_if<Outcome>(&output)) outcome = *end, ++outcomes;
  }
  void TakeAll(Outbox& outbox) {
    while (auto output = outbox.Pop()) Take(*std::move(output));
  }
};

}  // namespace hearth
