#include "gateway/text/pattern_dialect.h"

namespace hearth::text {
namespace {

// Assigned between Unicode 14 and 16. Naming a character that the library's tables have too changes nothing.
constexpr std::string_view kNewLetters =
    "\\x{1C89}-\\x{1C8A}\\x{A7CB}-\\x{A7CD}\\x{A7DA}-\\x{A7DC}\\x{105C0}-\\x{105F3}\\x{10D4A}-\\x{10D65}"
    "\\x{10D6F}-\\x{10D85}\\x{10EC2}-\\x{10EC4}\\x{1123F}-\\x{11240}\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}"
    "\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}\\x{11BC0}-\\x{11BE0}\\x{11F02}\\x{11F04}-\\x{11F10}"
    "\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}"
    "\\x{16D40}-\\x{16D6C}\\x{18CFF}\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}"
    "\\x{1E4D0}-\\x{1E4EB}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{323AF}";
constexpr std::string_view kNewNumbers =
    "\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}\\x{11F50}-\\x{11F59}\\x{16130}-\\x{16139}"
    "\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{1CCF9}\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{1E5FA}";

struct Rewrite {
  std::string_view from;
  std::string_view property;
  std::string_view extra;  // ranges, as they stand in a class
};
constexpr Rewrite kRewrites[] = {
    {"\\s", "\\p{White_Space}", ""},
    {"\\S", "\\P{White_Space}", ""},
    {"\\p{L}", "\\p{L}", kNewLetters},
    {"\\p{N}", "\\p{N}", kNewNumbers},
};

const Rewrite* RewriteAt(std::string_view text) {
  for (const Rewrite& rewrite : kRewrites) {
    if (text.starts_with(rewrite.from)) return &rewrite;
  }
  return nullptr;
}

}  // namespace

std::string ForPcre2(std::string_view expression) {
  std::string out;
  size_t class_begin = std::string_view::npos;  // where the open class's first member stands
  for (size_t i = 0; i < expression.size();) {
    const bool in_class = class_begin != std::string_view::npos;
    if (const Rewrite* rewrite = RewriteAt(expression.substr(i))) {
      const bool wrap = !in_class && !rewrite->extra.empty();
      if (wrap) out += '[';
      out.append(rewrite->property).append(rewrite->extra);
      if (wrap) out += ']';
      i += rewrite->from.size();
      continue;
    }
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      out.append(expression, i, 2);
      i += 2;
      continue;
    }
    if (!in_class && c == '[') {
      class_begin = i + (expression.substr(i).starts_with("[^") ? 2 : 1);
    } else if (in_class && c == ']' && i > class_begin) {
      class_begin = std::string_view::npos;
    }
    out += c;
    ++i;
  }
  return out;
}

}  // namespace hearth::text
