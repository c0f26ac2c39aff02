#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace hearth::text {

// Cuts text into the pieces that byte-pair encoding works on: every match of the expression and every gap between
// matches is one piece, so joining the pieces gives the text. Immutable; safe from many threads.
class PreTokenizer {
 public:
  static Result<PreTokenizer> Make(const std::string& expression);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // `text` is valid UTF-8 and outlives the pieces.
  std::vector<std::string_view> Split(std::string_view text) const;

 private:
  struct Impl;
  explicit PreTokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::text
