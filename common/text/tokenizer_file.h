#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/result.h"

namespace hearth::text {

// The members of a tokenizer.json. The two long lists come as flat arrays, in file order; everything else is `rest`
// (there "model" lacks "vocab" and "merges").
struct TokenizerFile {
  struct VocabEntry {
    std::string symbols;
    int32_t id;
  };
  std::vector<VocabEntry> vocab;
  std::vector<std::pair<std::string, std::string>> merges;
  bool has_vocab = false;
  bool has_merges = false;
  nlohmann::json rest;
};

// Takes a tokenizer.json of any size apart in one pass. Refuses malformed JSON and lists of another shape.
Result<TokenizerFile> ReadTokenizerFile(std::string_view text);

}  // namespace hearth::text
