#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::text {

struct CodePoint {
  uint32_t value;
  uint32_t bytes;
};

// The character that starts at `position` of valid UTF-8.
inline CodePoint CodePointAt(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[position + i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

// Appends a code point that is not a surrogate and at most U+10FFFF.
void AppendUtf8(std::string& out, uint32_t code_point);

// What stands at `position` of arbitrary bytes.
struct Utf8Part {
  enum class Kind { kCharacter, kInvalid, kIncomplete };  // kIncomplete: the bytes end inside a possible character
  Kind kind;
  size_t bytes;  // of the character, or of the longest beginning of one (at least 1)
};
Utf8Part Utf8PartAt(std::string_view bytes, size_t position);
// Bytes before the first that is no part of a character; all of them for valid UTF-8.
size_t ValidUtf8Bytes(std::string_view bytes);

// White space as Python's str.strip() sees it: the White_Space property and U+001C..U+001F.
bool IsUnicodeSpace(uint32_t code_point);

// The three take valid UTF-8.
std::string_view TrimSpace(std::string_view text);
bool IsBlank(std::string_view text);
// Bytes of `text` up to the end of its last character that is not white space.
size_t LengthWithoutTrailingSpace(std::string_view text);

}  // namespace hearth::text
