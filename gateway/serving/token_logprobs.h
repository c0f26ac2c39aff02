#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/text/detokenizer.h"
#include "gateway/text/tokenizer.h"
#include "gateway/worker_client/engine_types.h"

namespace hearth::serving {

// {"token","logprob","bytes","top_logprobs":[..]}: one entry of a chat answer's logprobs.content.
nlohmann::ordered_json ChatLogprob(const text::Tokenizer& tokenizer, const engine::Token& token);

// The logprobs object of plain completions, grown token by token.
class CompletionLogprobs {
 public:
  // With `echoes` the first tokens are those of the prompt, of which special ones show.
  CompletionLogprobs(const text::Tokenizer& tokenizer, bool echoes)
      : tokenizer_(tokenizer), shown_(tokenizer, /*skip_special=*/!echoes) {}

  // `logprob` absent: null, as for the first token of an echoed prompt.
  void Add(int32_t id, std::optional<float> logprob, const std::vector<engine::TokenLogprob>& top);
  // The prompt is complete: what follows is generated.
  void EndPrompt();
  // Everything since the last call, or null when nothing came.
  nlohmann::ordered_json Take();

 private:
  const text::Tokenizer& tokenizer_;
  nlohmann::ordered_json pending_;
  text::Detokenizer shown_;  // the text as the client sees it: a token begins where its first whole character does
  size_t offset_ = 0;        // in characters of that text
};

// One token's text, bytes that are no UTF-8 replaced.
std::string TokenText(const text::Tokenizer& tokenizer, int32_t id);
// The same for where names must differ: a token that is no text of its own is "bytes:\xe6\x97".
std::string TokenName(const text::Tokenizer& tokenizer, int32_t id);

}  // namespace hearth::serving
