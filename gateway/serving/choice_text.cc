#include "gateway/serving/choice_text.h"

#include <utility>

#include "gateway/text/utf8.h"

namespace hearth::serving {

using text::Delta;

ChatChoiceText::ChatChoiceText(const text::Tokenizer& tokenizer, text::OutputParser parser,
                               std::vector<std::string> stops)
    : detokenizer_(tokenizer, /*skip_special=*/true), parser_(std::move(parser)), stops_(std::move(stops)) {}

std::vector<Delta> ChatChoiceText::Push(int32_t token) { return Filter(parser_.Push(detokenizer_.Push(token))); }

std::vector<Delta> ChatChoiceText::Finish(bool by_length) {
  std::vector<Delta> out = Filter(parser_.Push(detokenizer_.Finish()));
  if (stopped()) return out;
  for (Delta& delta : Filter(parser_.Finish(by_length))) out.push_back(std::move(delta));
  if (!stopped()) AddContent(stops_.Finish(), out);
  return out;
}

std::vector<Delta> ChatChoiceText::Filter(std::vector<Delta> deltas) {
  std::vector<Delta> out;
  for (Delta& delta : deltas) {
    if (stopped()) break;
    if (delta.kind == Delta::Kind::kContent) {
      AddContent(stops_.Push(delta.text), out);
      continue;
    }
    has_calls_ = has_calls_ || delta.kind == Delta::Kind::kCallStart;
    out.push_back(std::move(delta));
  }
  return out;
}

void ChatChoiceText::AddContent(std::string text, std::vector<Delta>& out) {
  held_blanks_ += text;
  const size_t shown = text::LengthWithoutTrailingSpace(held_blanks_);
  if (shown == 0) return;
  out.push_back({Delta::Kind::kContent, held_blanks_.substr(0, shown)});
  held_blanks_.erase(0, shown);
}

std::string PlainChoiceText::Finish() {
  std::string text = stops_.Push(detokenizer_.Finish());
  if (!stops_.stopped()) text += stops_.Finish();
  return text;
}

}  // namespace hearth::serving
