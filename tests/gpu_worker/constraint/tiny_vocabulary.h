#pragma once

#include <memory>

#include "gpu_worker/constraint/token_masker.h"

namespace hearth {

// The vocabulary of the bundled model.
inline const std::shared_ptr<const ConstraintVocabulary>& TinyVocabulary() {
  static const std::shared_ptr<const ConstraintVocabulary> vocabulary = [] {
    auto bytes = VocabularyBytes::Read(HEARTH_SOURCE_DIR "/models/hearth-tiny", 4096);
    HEARTH_CHECK(bytes.ok(), bytes.status().ToString());
    return std::make_shared<const ConstraintVocabulary>(*std::move(bytes));
  }();
  return vocabulary;
}

// Some of its added tokens.
constexpr int32_t kEndOfText = 4060, kUser = 4067, kObservation = 4069, kThinkEnd = 4082, kToolCall = 4083,
                  kToolCallEnd = 4084;

// The text of ids; an added token is written as <ID>.
inline std::string TinyText(const std::vector<int32_t>& ids) {
  std::string text;
  for (int32_t id : ids) {
    const std::string& bytes = TinyVocabulary()->bytes.ordinary[static_cast<size_t>(id)];
    text += bytes.empty() ? "<" + std::to_string(id) + ">" : bytes;
  }
  return text;
}

}  // namespace hearth
