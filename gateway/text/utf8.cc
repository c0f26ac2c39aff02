#include "gateway/text/utf8.h"

#include <algorithm>
#include <cstring>

#include "gateway/text/detokenizer.h"

namespace hearth::text {

void AppendUtf8(std::string& out, uint32_t code_point) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

Utf8Part Utf8PartAt(std::string_view bytes, size_t position) {
  using Kind = Utf8Part::Kind;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[position + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Kind::kCharacter, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Kind::kInvalid, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The first continuation byte excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (position + i == bytes.size()) return {Kind::kIncomplete, i};
    const unsigned next = byte(i);
    if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xBF)) return {Kind::kInvalid, i};
  }
  return {Kind::kCharacter, length};
}

bool IsUnicodeSpace(uint32_t c) {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t LengthWithoutTrailingSpace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    if (!IsUnicodeSpace(CodePointAt(text, start).value)) break;
    end = start;
  }
  return end;
}

std::string_view TrimSpace(std::string_view text) {
  text = text.substr(0, LengthWithoutTrailingSpace(text));
  size_t start = 0;
  while (start < text.size()) {
    const CodePoint c = CodePointAt(text, start);
    if (!IsUnicodeSpace(c.value)) break;
    start += c.bytes;
  }
  return text.substr(start);
}

bool IsBlank(std::string_view text) { return LengthWithoutTrailingSpace(text) == 0; }

std::string SanitizeUtf8(std::string_view bytes, bool hold_incomplete, std::string* rest) {
  if (rest) rest->clear();
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const Utf8Part part = Utf8PartAt(bytes, i);
    if (part.kind == Utf8Part::Kind::kCharacter) {
      out.append(bytes, i, part.bytes);
    } else if (part.kind == Utf8Part::Kind::kIncomplete && hold_incomplete) {
      if (rest) rest->assign(bytes.substr(i));
    } else {
      out += "\xEF\xBF\xBD";
    }
    i += part.bytes;
  }
  return out;
}

size_t ValidUtf8Bytes(std::string_view bytes) {
  constexpr uint64_t kNotAscii = 0x8080808080808080;
  size_t i = 0;
  while (i < bytes.size()) {
    uint64_t eight = kNotAscii;
    if (bytes.size() - i >= sizeof eight) std::memcpy(&eight, bytes.data() + i, sizeof eight);
    if ((eight & kNotAscii) == 0) {
      i += sizeof eight;
      continue;
    }
    const Utf8Part part = Utf8PartAt(bytes, i);
    if (part.kind != Utf8Part::Kind::kCharacter) break;
    i += part.bytes;
  }
  return i;
}

bool IsValidUtf8(std::string_view bytes) { return ValidUtf8Bytes(bytes) == bytes.size(); }

}  // namespace hearth::text
