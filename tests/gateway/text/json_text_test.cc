#include "gateway/text/json_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "gateway/text/json_reader.h"
#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

// Text in, text out.
std::string Rewritten(std::string_view text) {
  const auto value = ParseJsonKeepingNumbers(text);
  return value.ok() ? JsonText(*value) : "refused: " + value.status().message();
}

TEST(JsonText, WritesAsPythonDoes) {
  const std::pair<std::string, std::string> cases[] = {
      {" { \"a\" : [ 1 , 2.50 ,true,false,null ] , \"b\" : { } , \"c\":[] } ",
       R"({"a": [1, 2.5, true, false, null], "b": {}, "c": []})"},
      {R"({"z": 1, "a": 2, "z": 3})", R"({"z": 3, "a": 2})"},
      {R"("\"\\\/\b\f\n\r\t\u0001\u001F\u007f\u2028")", "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\u2028\""},
      {R"("\u00e9\ud83d\ude00<&>")", "\"é😀<&>\""},
      {"\"\\u0000\"", "\"\\u0000\""},
      {"9223372036854775807", "9223372036854775807"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "18446744073709551616"},
      {"-9223372036854775809", "-9223372036854775809"},
      {"[123456789012345678901234567890, -0, 0]", "[123456789012345678901234567890, 0, 0]"},
      {"[1.0, -0.0, 1e5, 100000.0]", "[1.0, -0.0, 100000.0, 100000.0]"},
      {"[1e15, 1e16, 1.5e16, 123456789012345680.0]", "[1000000000000000.0, 1e+16, 1.5e+16, 1.2345678901234568e+17]"},
      {"[1e-4, 1e-5, 0.00012345, 1.5e-7]", "[0.0001, 1e-05, 0.00012345, 1.5e-07]"},
      {"[0.1, 0.30000000000000004, 1.7976931348623157e308, 5e-324, 1e-400, 0e999]",
       "[0.1, 0.30000000000000004, 1.7976931348623157e+308, 5e-324, 0.0, 0.0]"},
      {"1E+2", "100.0"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Rewritten(text), expected) << text;
}

TEST(JsonText, IntegersOfAnySizeKeepTheirDigits) {
  const std::string digits(5000, '7');
  EXPECT_EQ(Rewritten("[-" + digits + "]"), "[-" + digits + "]");
  const auto value = *ParseJsonKeepingNumbers(digits);
  EXPECT_TRUE(IsInteger(value));
  EXPECT_TRUE(IsNumber(value));
  EXPECT_EQ(BigIntegerDigits(value), digits);
  EXPECT_FALSE(BigIntegerDigits(OrderedJson(5)).has_value());
}

TEST(JsonText, RefusesWhatIsNotJson) {
  for (const std::string text : {
           "",
           " ",
           "{",
           "[1,]",
           "{\"a\":1,}",
           "{a:1}",
           "{\"a\" 1}",
           "[1 2]",
           "nul",
           "NaN",
           "Infinity",
           "-Infinity",
           "+1",
           "01",
           "-",
           "1.",
           ".5",
           "1e",
           "1e+",
           "1e400",
           "-1e400",
           "'a'",
           "\"a",
           "\"\\x\"",
           "\"\\u12g4\"",
           "\"\\u+123\"",
           "1 2",
           "{} x",
           "\"\\ud800\"",
           "\"\\ud800\\u0041\"",
           "\"\\udc00\"",
           "\"a\nb\"",
           "\xEF\xBB\xBF{}",
           "\"\xFF\"",
           "\"\xED\xA0\x80\"",
           "\"\xC0\x80\"",
           "tru",
           "truex",
           "// c\n1",
           "1000.0e306",
           "\"\\u0\"",
       }) {
    EXPECT_FALSE(ParseJsonKeepingNumbers(text).ok()) << text;
  }
  EXPECT_FALSE(ParseJsonKeepingNumbers(std::string("1\0", 2)).ok());
}

TEST(JsonText, DepthIsLimited) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJsonKeepingNumbers(nested(kMaxJsonDepth)).ok());
  EXPECT_FALSE(ParseJsonKeepingNumbers(nested(kMaxJsonDepth + 1)).ok());
  EXPECT_FALSE(ParseJsonKeepingNumbers(std::string(1000000, '[')).ok());
}

TEST(JsonText, BoundsTheNumberOfValues) {
  const auto list = [](int64_t count) {
    std::string text = "[0";
    for (int64_t i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(ParseJsonKeepingNumbers(list(kMaxJsonValues - 1)).ok());
  EXPECT_FALSE(ParseJsonKeepingNumbers(list(kMaxJsonValues)).ok());
}

TEST(JsonText, ManyMembersAndRepeatedNames) {
  std::string text = "{", expected = "{";
  for (int i = 0; i < 50000; ++i) {
    const std::string key = "\"k" + std::to_string(i) + "\"";
    text += key + ":0,";
    expected += key + ": " + (i % 2 ? "0" : "1") + ", ";
  }
  for (int i = 0; i < 50000; i += 2) text += "\"k" + std::to_string(i) + "\":1,";
  text.back() = '}';
  expected.replace(expected.size() - 2, 2, "}");
  EXPECT_EQ(Rewritten(text), expected);
}

TEST(JsonText, TellsTheFirstRepeatedName) {
  const auto repeated = [](std::string_view text) {
    std::optional<std::string> name;
    EXPECT_TRUE(ParseJsonKeepingNumbers(text, &name).ok()) << text;
    return name.value_or("none");
  };
  EXPECT_EQ(repeated(R"({"a": {"b": 1}, "b": [{"a": 2}, {"a": 3}]})"), "none");
  EXPECT_EQ(repeated(R"([{"x": {"a": 1, "\u0061": 2}}])"), "a");
  EXPECT_EQ(repeated(R"({"a": 1, "b": 1, "b": 2, "a": 2})"), "b");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_EQ(repeated(many + "\"z\":1}"), "none");
  EXPECT_EQ(repeated(many + "\"k7\":1,\"z\":1,\"z\":2}"), "k7");
}

TEST(JsonText, ListsOfTheOutermostObjectAreBounded) {
  const ListLimit limits[] = {{"a", 2}};
  const auto outcome = [&](std::string_view text) {
    const auto value = ParseJsonWithin(text, limits, nullptr);
    return value.ok() ? "taken" : value.status().param() + "|" + value.status().message();
  };
  EXPECT_EQ(outcome(R"({"a": [1, 2], "b": [1, 2, 3], "c": {"a": [1, 2, 3]}})"), "taken");
  EXPECT_EQ(outcome(R"({"b": [[1, 2, 3]], "a": [[1, 2, 3], {"a": [1, 2, 3]}]})"), "taken");
  EXPECT_EQ(outcome(R"([{"a": [1, 2, 3]}])"), "taken");
  EXPECT_EQ(outcome(R"({"a": [1, 2, 3]})"), "a|a has more than 2 entries");
  EXPECT_EQ(outcome(R"({"\u0061": [1, 2, and what follows is not read)"), "a|a has more than 2 entries");
  EXPECT_EQ(outcome(R"({"a": [1, x)"), "|expected a value at byte 10");
}

TEST(JsonText, EscapingInPartsGivesTheSameText) {
  const std::string text = "a\"\\\n\x01é\u2028/";
  std::string whole, parts;
  AppendJsonEscaped(whole, text);
  for (const char c : text) AppendJsonEscaped(parts, std::string_view(&c, 1));
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace hearth::text
