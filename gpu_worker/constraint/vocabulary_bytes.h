#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace hearth {

// What each id of the model's vocabulary stands for. An id is an ordinary token (bytes), an added token (a symbol of
// its own), or nothing: the model has more rows than the tokenizer has entries.
struct VocabularyBytes {
  std::vector<std::string> ordinary;  // by id, vocab_size of them; "": not an ordinary token
  std::vector<int32_t> added;         // ascending

  // From a tokenizer.json with a byte-level vocabulary. Ids beyond vocab_size are refused.
  static Result<VocabularyBytes> Parse(std::string_view json_text, int32_t vocab_size);
  // From the tokenizer.json of a model directory; NOT_FOUND when there is none.
  static Result<VocabularyBytes> Read(const std::string& model_dir, int32_t vocab_size);
};

}  // namespace hearth
