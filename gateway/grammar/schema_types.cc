#include <cmath>
#include <cstdio>

#include "gateway/grammar/number_range.h"
#include "gateway/grammar/regex.h"
#include "gateway/grammar/schema_compiler.h"

namespace hearth::grammar {
namespace {

using text::FindMember;

#define HEARTH_DATE                                                                                      \
  "[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)" \
  "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
#define HEARTH_TIME \
  "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define HEARTH_OCTET "(?:[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"

// Formats whose texts an expression can tell. February has 28 days.
constexpr std::pair<const char*, const char*> kFormats[] = {
    {"date", HEARTH_DATE},
    {"time", HEARTH_TIME},
    {"date-time", HEARTH_DATE "T" HEARTH_TIME},
    {"uuid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"},
    {"ipv4", HEARTH_OCTET "(?:\\." HEARTH_OCTET "){3}"},
};

#undef HEARTH_DATE
#undef HEARTH_TIME
#undef HEARTH_OCTET

// A number in plain decimal notation, or nothing when that has more digits than a range may.
std::optional<std::string> Decimal(const OrderedJson& number) {
  if (number.is_number_integer()) return text::JsonText(number);
  if (!number.is_number_float()) return {};
  const double value = number.get<double>();
  if (std::abs(value) >= 1e15) return {};
  std::string text = text::DoubleText(value);
  if (text.find('e') != std::string::npos) return {};
  return text;
}

}  // namespace

PieceRef SchemaCompiler::StringText(const OrderedJson& schema, const std::string& path, const PieceRef& any_character,
                                    const WriteSet& write) {
  const std::optional<size_t> least = Count(schema, "minLength", kMaxStringLength, path);
  const std::optional<size_t> most = Count(schema, "maxLength", kMaxStringLength, path);
  const OrderedJson *pattern = FindMember(schema, "pattern"), *format = FindMember(schema, "format");
  if (pattern == nullptr && format == nullptr) {
    if (most && *most < least.value_or(0)) Fail("maxLength", path, "is below minLength");
    return Repeat(any_character, least.value_or(0), most);
  }
  const std::string keyword = pattern != nullptr ? "pattern" : "format";
  const char* beside = least                                     ? "minLength"
                       : most                                    ? "maxLength"
                       : pattern != nullptr && format != nullptr ? "format"
                                                                 : nullptr;
  if (beside != nullptr) Fail(beside, path, StrCat("beside ", keyword, " is not offered"));
  const OrderedJson& given = pattern != nullptr ? *pattern : *format;
  if (!given.is_string()) Fail(keyword, path, "must be a string");
  if (!status_.ok()) return Text("");
  std::string expression = given.get<std::string>();
  if (pattern == nullptr) {
    const char* known = nullptr;
    for (const auto& [name, its_expression] : kFormats) {
      if (expression == name) known = its_expression;
    }
    if (known == nullptr) {
      Fail(keyword, path,
           StrCat("is ", text::JsonText(given), ", only date, time, date-time, uuid and ipv4 are offered"));
      return Text("");
    }
    expression = known;
  }
  Result<PieceRef> matching = ParseRegex(expression, {.write = write, .whole = pattern == nullptr});
  if (matching.ok()) return *matching;
  Fail(keyword, path, StrCat("cannot be enforced: ", matching.status().message()));
  return Text("");
}

PieceRef SchemaCompiler::String(const OrderedJson& schema, const std::string& path) {
  const auto write = [this](const CodePointSet& set) { return rules_.CharacterOf(set); };
  for (const char* keyword : {"minLength", "maxLength", "pattern", "format"}) {
    if (!schema.contains(keyword)) continue;
    const PieceRef text = StringText(schema, path, rules_.Character(), write);
    return Rule(builder_.Add(StrCat("string at ", path), Sequence({Text("\""), text, Text("\"")})));
  }
  return rules_.String();
}

PieceRef SchemaCompiler::Number(const OrderedJson& schema, const std::string& path, bool whole) {
  std::optional<NumberBound> low, high;
  std::optional<double> low_value, high_value;
  const auto read = [&](const char* keyword, bool is_low, bool exclusive) {
    const OrderedJson* value = FindMember(schema, keyword);
    if (value == nullptr) return;
    const std::optional<std::string> decimal = Decimal(*value);
    if (!decimal) {
      return Fail(keyword, path, StrCat("is ", text::JsonText(*value), ", expected a number that needs no exponent"));
    }
    std::optional<NumberBound>& bound = is_low ? low : high;
    std::optional<double>& bound_value = is_low ? low_value : high_value;
    const double number = value->get<double>();
    // Of an inclusive and an exclusive bound the tighter one counts; the exclusive one comes second.
    if (bound && (is_low ? number < *bound_value : number > *bound_value)) return;
    bound = NumberBound{*decimal, exclusive};
    bound_value = number;
  };
  read("minimum", true, false);
  read("exclusiveMinimum", true, true);
  read("maximum", false, false);
  read("exclusiveMaximum", false, true);
  if (!low && !high) return whole ? rules_.Integer() : rules_.Number();
  if (low && high && *low_value > *high_value) Fail("minimum", path, "is above the maximum");
  if (!status_.ok()) return Text("");
  const PieceRef range = NumberRange(builder_, low, high, whole);
  return Rule(builder_.Add(StrCat("number at ", path), range));
}

}  // namespace hearth::grammar
