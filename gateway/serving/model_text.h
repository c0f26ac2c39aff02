#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "gateway/text/tokenizer.h"

namespace hearth::serving {

// How a gateway gets another tokenizer than one that it refuses.
inline constexpr char kAnotherFolder[] = "; --model-dir names another folder";

// The text side of the served model. Immutable.
struct ModelText {
  text::Tokenizer tokenizer;
  std::string dir;
  size_t longest_token;           // in bytes
  std::vector<int32_t> holes;     // ids below the tokenizer's size without an entry
  std::vector<int32_t> turn_ids;  // added tokens that open a turn: none of them belongs inside an answer
};

// Loads the tokenizer once its folder is known: given at start, or told by the worker. Thread-safe.
class ModelTextHolder {
 public:
  // Null until loaded.
  std::shared_ptr<const ModelText> get() const;
  // Does nothing when this folder is loaded or has failed before.
  void LoadFrom(const std::string& dir);
  // Why get() is null; "" before the first attempt.
  std::string problem() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ModelText> text_;
  std::string tried_dir_;
  std::string problem_;
};

}  // namespace hearth::serving
