#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

// The tags of model output.
enum class Tag {
  kText,  // no tag
  kThink,
  kEndThink,
  kToolCall,
  kEndToolCall,
  kArgKey,
  kEndArgKey,
  kArgValue,
  kEndArgValue,
};

struct TagPiece {
  Tag tag;
  std::string text;  // as it stood in the output, tags included; not empty
};

// Cuts streamed text at tags. An end that could still become a tag is held back.
class TagScanner {
 public:
  std::vector<TagPiece> Push(std::string_view text);
  // What was held back, which is ordinary text now.
  std::string Finish();

 private:
  std::string held_;
};

}  // namespace hearth::text
