#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// `text` itself when it has at most `most` bytes, else its beginning, cut between two characters, and "..".
inline std::string Utf8Prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "..";
}

}  // namespace hearth
