#include "gateway/text/tag_scanner.h"

#include <utility>

namespace hearth::text {
namespace {

struct NamedTag {
  std::string_view text;
  Tag tag;
};

constexpr NamedTag kTags[] = {
    {"<think>", Tag::kThink},        {"</think>", Tag::kEndThink},
    {"<tool_call>", Tag::kToolCall}, {"</tool_call>", Tag::kEndToolCall},
    {"<arg_key>", Tag::kArgKey},     {"</arg_key>", Tag::kEndArgKey},
    {"<arg_value>", Tag::kArgValue}, {"</arg_value>", Tag::kEndArgValue},
};

const NamedTag* TagAt(std::string_view text) {
  for (const NamedTag& tag : kTags) {
    if (text.starts_with(tag.text)) return &tag;
  }
  return nullptr;
}

bool BeginsTag(std::string_view text) {
  for (const NamedTag& tag : kTags) {
    if (tag.text.starts_with(text)) return true;
  }
  return false;
}

}  // namespace

std::vector<TagPiece> TagScanner::Push(std::string_view text) {
  held_ += text;
  const std::string_view all = held_;
  std::vector<TagPiece> pieces;
  size_t done = 0;
  const auto emit_text = [&](size_t end) {
    if (end > done) pieces.push_back({Tag::kText, std::string(all.substr(done, end - done))});
    done = end;
  };
  for (size_t open = all.find('<'); open != std::string_view::npos; open = all.find('<', open)) {
    const std::string_view here = all.substr(open);
    if (const NamedTag* tag = TagAt(here)) {
      emit_text(open);
      done = open += tag->text.size();
      pieces.push_back({tag->tag, std::string(tag->text)});
    } else if (BeginsTag(here)) {
      emit_text(open);
      held_.erase(0, open);
      return pieces;
    } else {
      ++open;
    }
  }
  emit_text(all.size());
  held_.clear();
  return pieces;
}

std::string TagScanner::Finish() { return std::exchange(held_, {}); }

}  // namespace hearth::text
