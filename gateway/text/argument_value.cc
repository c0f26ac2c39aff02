#include "gateway/text/argument_value.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "gateway/text/utf8.h"

namespace hearth::text {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string AsciiLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The integer that a JSON number with fraction or exponent equals, from its digits and never through a double; nothing
// when its fraction is not zero. The number is in the range of a double, which bounds the answer's length.
std::optional<std::string> AsInteger(std::string_view number) {
  const bool negative = number[0] == '-';
  if (negative) number.remove_prefix(1);
  const size_t e = number.find_first_of("eE");
  const std::string_view mantissa = number.substr(0, e);
  std::string digits;
  std::copy_if(mantissa.begin(), mantissa.end(), std::back_inserter(digits), [](char c) { return c != '.'; });
  auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return "0";
  if (e != std::string_view::npos) {
    std::string_view exponent = number.substr(e + 1);
    if (exponent[0] == '+') exponent.remove_prefix(1);
    int64_t power = 0;
    const char* end = exponent.data() + exponent.size();
    if (std::from_chars(exponent.data(), end, power).ec != std::errc() || std::abs(power) > INT32_MAX)
      return std::nullopt;
    point += power;
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  if (static_cast<int64_t>(digits.size()) > point) return std::nullopt;
  digits.append(static_cast<size_t>(point) - digits.size(), '0');
  digits.erase(0, first);
  if (negative) digits.insert(0, 1, '-');
  return digits;
}

}  // namespace

std::string ArgumentText(std::string_view raw, TypeSet types) {
  if (types.IsOnly(TypeSet::kString)) return Quoted(raw);
  const std::string_view trimmed = TrimSpace(raw);
  if (const Result<OrderedJson> value = ParseJsonKeepingNumbers(trimmed); value.ok()) {
    const TypeSet::Type type = TypeOf(*value);
    const bool fits = types.Has(type) || (type == TypeSet::kInteger && types.Has(TypeSet::kNumber));
    if (types.empty() || (fits && type != TypeSet::kString)) return JsonText(*value);
    if (type == TypeSet::kNumber && types.Has(TypeSet::kInteger)) {
      if (const auto integer = AsInteger(trimmed)) return *integer;
    }
    return types.Has(TypeSet::kString) ? Quoted(raw) : JsonText(*value);
  }
  const std::string word = AsciiLower(trimmed);
  if (types.Has(TypeSet::kBoolean) && (word == "true" || word == "false")) return word;
  const bool takes_null = types.Has(TypeSet::kNull) || (!types.empty() && !types.Has(TypeSet::kString));
  if (takes_null && (word == "null" || word == "none")) return "null";
  return Quoted(raw);
}

}  // namespace hearth::text
