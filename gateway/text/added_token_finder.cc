#include "gateway/text/added_token_finder.h"

#include <algorithm>

namespace hearth::text {

AddedTokenFinder::AddedTokenFinder(const std::vector<Tokenizer::AddedToken>& tokens) {
  for (const auto& token : tokens) by_first_byte_[static_cast<unsigned char>(token.content[0])].push_back(&token);
  for (auto& list : by_first_byte_) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto* a, const auto* b) { return a->content.size() > b->content.size(); });
  }
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::Next(std::string_view text, size_t start) const {
  for (size_t i = start; i < text.size(); ++i) {
    for (const auto* token : by_first_byte_[static_cast<unsigned char>(text[i])]) {
      if (text.substr(i).starts_with(token->content)) return Found{i, token};
    }
  }
  return std::nullopt;
}

}  // namespace hearth::text
