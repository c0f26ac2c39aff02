#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/text/tokenizer.h"

namespace hearth::text {

// Finds added tokens in text: leftmost first, the longest at one place.
class AddedTokenFinder {
 public:
  // `tokens` outlives this object.
  explicit AddedTokenFinder(const std::vector<Tokenizer::AddedToken>& tokens);

  struct Found {
    size_t begin;
    const Tokenizer::AddedToken* token;
  };
  std::optional<Found> Next(std::string_view text, size_t start) const;

 private:
  std::array<std::vector<const Tokenizer::AddedToken*>, 256> by_first_byte_;  // longest first
};

}  // namespace hearth::text
