#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "gateway/openai/shared_fields.h"

namespace hearth::sglang {

using openai::OrderedJson;

constexpr size_t kMaxStops = 16;

// A validated POST /generate. `text` becomes ids with special-token text recognised.
struct GenerateRequest {
  std::optional<std::string> text;
  std::vector<int32_t> ids;  // when text is not given
  engine::SamplingParams sampling;
  std::vector<std::string> stops;
  std::optional<uint32_t> max_new_tokens;  // absent: what the context leaves; 1 when log-probabilities are asked for
  bool ignore_eos = false;
  bool skip_special = true;
  bool stream = false;
  bool samples = false;  // asks for another token than the most likely one, or for an end of its own
  // Log-probabilities.
  bool return_logprob = false;
  std::optional<uint32_t> logprob_start;  // first token whose distribution is returned; absent: the one after the last
  uint32_t top_logprobs = 0;
  std::vector<int32_t> chosen_ids;
  // Ours: which path scores, and the hash of each logits row.
  bool decode_path = false;
  uint32_t decode_from = 1;
  bool logits_hash = false;
  std::vector<std::string> unknown_fields;

  // Teacher-forced scoring answers this request: at most the most likely token after the sequence is asked for.
  bool scores() const {
    const uint32_t tokens = max_new_tokens.value_or(1);
    return (return_logprob || logits_hash) && (tokens == 0 || (tokens == 1 && !samples));
  }
};

Result<GenerateRequest> ParseGenerateRequest(const OrderedJson& body, bool strict);

}  // namespace hearth::sglang
