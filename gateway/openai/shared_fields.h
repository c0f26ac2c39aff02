#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/openai/field_reader.h"
#include "gateway/worker_client/engine_types.h"

namespace hearth::openai {

constexpr int64_t kMaxChoices = 8;
constexpr int64_t kMaxTopLogprobs = 20;
constexpr size_t kMaxStops = 4;
constexpr size_t kMaxStopBytes = 1024;
constexpr size_t kMaxBiases = 1024;
// Logits are divided by it: far below, they are no finite numbers.
constexpr double kLeastRepetitionPenalty = 0.01;

// Fields that chat and completion requests have alike. Mistakes land in the reader.

engine::SamplingParams ReadSampling(FieldReader& fields);
std::vector<std::string> ReadStops(FieldReader& fields, size_t most = kMaxStops);

// The name in `model`; "" when it is absent.
std::string ReadModel(FieldReader& fields);

// What requests of one conversation share: prompt_cache_key, else user, else "".
std::string ReadSession(FieldReader& fields);

struct StreamFields {
  bool stream = false;
  bool include_usage = false;
};
StreamFields ReadStream(FieldReader& fields);

// Seed of choice `index`: its own for each, so that choices differ.
std::optional<uint64_t> ChoiceSeed(std::optional<uint64_t> seed, size_t index);

}  // namespace hearth::openai
