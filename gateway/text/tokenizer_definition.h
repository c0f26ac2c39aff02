#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "gateway/text/tokenizer.h"

namespace hearth::text {

// A tokenizer.json reduced to what encoding needs. Made only from files of which every setting is implemented.
struct TokenizerDefinition {
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t result;
  };
  std::vector<std::string> token_bytes;  // by id; "" where an id has no entry. Added tokens are included
  int32_t ordinary_end = 0;              // one past the largest id of the ordinary vocabulary
  std::vector<Merge> merges;             // by falling priority
  bool ignore_merges = false;
  std::string expression;  // PCRE2 pattern of one piece
  std::vector<Tokenizer::AddedToken> added;
};

// Refuses, with key and value, every setting that would change ids and is not implemented.
Result<TokenizerDefinition> ParseTokenizerDefinition(std::string_view json_text);

}  // namespace hearth::text
