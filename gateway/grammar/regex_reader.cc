#include "gateway/grammar/regex_reader.h"

#include <cctype>
#include <string>

#include "gateway/text/utf8.h"

namespace hearth::grammar {
namespace {

const CodePointSet& DigitSet() {
  static const CodePointSet set({{'0', '9'}});
  return set;
}
const CodePointSet& WordSet() {
  static const CodePointSet set({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return set;
}
const CodePointSet& BlankSet() {
  static const CodePointSet set({{'\t', '\r'}, {' ', ' '}});
  return set;
}
// What some dialect or other takes for white space: none of it is in \S.
const CodePointSet& WideBlankSet() {
  static const CodePointSet set({{'\t', '\r'},
                                 {0x1C, 0x20},
                                 {0x85, 0x85},
                                 {0xA0, 0xA0},
                                 {0x1680, 0x1680},
                                 {0x2000, 0x200A},
                                 {0x2028, 0x2029},
                                 {0x202F, 0x202F},
                                 {0x205F, 0x205F},
                                 {0x3000, 0x3000},
                                 {0xFEFF, 0xFEFF}});
  return set;
}

CodePointSet One(uint32_t c) { return CodePointSet({{c, c}}); }

}  // namespace

void RegexReader::Fail(const std::string& what) {
  if (status_.ok()) status_ = InvalidArgument(what, " at byte ", at_, " of the expression");
}

bool RegexReader::Take(std::string_view next) {
  if (!Looks(next)) return false;
  at_ += next.size();
  return true;
}

uint32_t RegexReader::Next() {
  if (done()) {
    Fail("it ends early");
    return 0;
  }
  const text::CodePoint c = text::CodePointAt(text_, at_);
  at_ += c.bytes;
  return c.value;
}

std::optional<size_t> RegexReader::Number() {
  std::optional<size_t> value;
  while (!done() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
    value = std::min<size_t>(value.value_or(0) * 10 + static_cast<size_t>(text_[at_++] - '0'), 1'000'000);
  }
  return value;
}

uint32_t RegexReader::Hex(size_t digits) {
  uint32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const uint32_t c = Next();
    if (c > 0x7F || !std::isxdigit(static_cast<int>(c))) {
      Fail("a hexadecimal digit is missing");
      return 0;
    }
    value = value * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

CodePointSet RegexReader::Escape(bool in_class, bool negated) {
  const uint32_t c = Next();
  switch (c) {
    case 'd':
      return DigitSet();
    case 'D':
      return DigitSet().Complement();
    case 'w':
      return WordSet();
    case 'W':
      return WordSet().Complement();
    case 's':
      return negated ? WideBlankSet() : BlankSet();
    case 'S':
      return (negated ? BlankSet() : WideBlankSet()).Complement();
    case 't':
      return One('\t');
    case 'n':
      return One('\n');
    case 'r':
      return One('\r');
    case 'f':
      return One('\f');
    case 'v':
      return One('\v');
    case '0':
      return One(0);
    case 'x':
      return One(Hex(2));
    case 'u': {
      uint32_t value = 0;
      if (Take("{")) {
        while (!done() && !Looks("}") && value <= 0x10FFFF) value = value * 16 + Hex(1);
        if (!Take("}")) Fail("the } of \\u{ is missing");
      } else {
        value = Hex(4);
      }
      if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) Fail("\\u names no character");
      return One(value);
    }
    case 'b':
      if (in_class) return One('\b');
      Fail("\\b (a word boundary) is not offered");
      return {};
    default:
      break;
  }
  if (c < 0x80 && std::isalnum(static_cast<int>(c))) {
    const bool back = (c >= '1' && c <= '9') || c == 'k';
    Fail(back ? "a back reference is not offered" : std::string("\\") + static_cast<char>(c) + " is not offered");
    return {};
  }
  return One(c);
}

CodePointSet RegexReader::ClassMember(bool negated) {
  if (Take("\\")) return Escape(/*in_class=*/true, negated);
  if (Looks("[:")) Fail("a named class is not offered");
  return One(Next());
}

CodePointSet RegexReader::Class() {
  const bool negated = Take("^");
  CodePointSet set;
  while (!Looks("]")) {
    if (done()) {
      Fail("the ] of a class is missing");
      return set;
    }
    const CodePointSet first = ClassMember(negated);
    if (!status_.ok()) return set;
    if (Looks("-") && !Looks("-]") && first.ranges().size() == 1 && first.ranges()[0].low == first.ranges()[0].high) {
      Take("-");
      const CodePointSet last = ClassMember(negated);
      if (!status_.ok()) return set;
      const uint32_t low = first.ranges()[0].low;
      if (last.ranges().size() != 1 || last.ranges()[0].low != last.ranges()[0].high || last.ranges()[0].low < low) {
        Fail("a range of a class ends before it begins");
        return set;
      }
      set.Add(low, last.ranges()[0].low);
    } else {
      set.Add(first);
    }
  }
  Take("]");
  return negated ? set.Complement() : set;
}

}  // namespace hearth::grammar
