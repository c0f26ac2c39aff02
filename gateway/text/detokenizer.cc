#include "gateway/text/detokenizer.h"

namespace hearth::text {

std::string Detokenizer::Push(int32_t id) {
  if (skip_special_ && tokenizer_->IsSpecial(id)) return {};
  held_ += tokenizer_->TokenBytes(id);
  std::string rest;
  std::string text = SanitizeUtf8(held_, /*hold_incomplete=*/true, &rest);
  held_ = std::move(rest);
  return text;
}

std::string Detokenizer::Finish() {
  std::string text = SanitizeUtf8(held_, /*hold_incomplete=*/false, nullptr);
  held_.clear();
  return text;
}

}  // namespace hearth::text
