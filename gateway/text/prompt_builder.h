#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "gateway/text/tokenizer.h"

namespace hearth::text {

// Collects a prompt: what the template itself writes is markup, everything that came with the request is content.
class PromptBuilder {
 public:
  void Markup(std::string_view text) { Append(text, true); }
  void Content(std::string_view text) { Append(text, false); }
  // No segment is empty, and neighbours differ in kind.
  std::vector<Segment> Take() && { return std::move(segments_); }

 private:
  void Append(std::string_view text, bool is_markup) {
    if (text.empty()) return;
    if (segments_.empty() || segments_.back().is_markup != is_markup) segments_.push_back({{}, is_markup});
    segments_.back().text += text;
  }

  std::vector<Segment> segments_;
};

}  // namespace hearth::text
