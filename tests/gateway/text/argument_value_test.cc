#include "gateway/text/argument_value.h"

#include <gtest/gtest.h>

#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

TypeSet Types(std::string_view schema) { return AllowedTypes(*ParseJsonKeepingNumbers(schema)); }

struct Case {
  std::string schema, raw, expected;
};

TEST(ArgumentText, FollowsTheTableOfTypes) {
  const Case cases[] = {
      {R"({"type":"string"})", " 5 ", "\" 5 \""},
      {R"({"type":"string"})", "null", "\"null\""},
      {R"({})", "5", "5"},
      {R"({})", " {\"a\":[1,2.50]} ", "{\"a\": [1, 2.5]}"},
      {R"({})", "hello", "\"hello\""},
      {R"({})", "True", "\"True\""},
      {R"({})", "None", "\"None\""},
      {R"({})", "NaN", "\"NaN\""},
      {R"({})", "1e400", "\"1e400\""},
      {R"({})", "\"q\"", "\"q\""},
      {R"({"type":"integer"})", "12345678901234567890123", "12345678901234567890123"},
      {R"({"type":"integer"})", "5.0", "5"},
      {R"({"type":"integer"})", "-5.0", "-5"},
      {R"({"type":"integer"})", "-0.0", "0"},
      {R"({"type":"integer"})", "0e99999999999999999999", "0"},
      {R"({"type":"integer"})", "1e3", "1000"},
      {R"({"type":"integer"})", "12.5e1", "125"},
      {R"({"type":"integer"})", "1e25", "10000000000000000000000000"},
      {R"({"type":"integer"})", "0.00123e5", "123"},
      {R"({"type":"integer"})", "9007199254740993.0", "9007199254740993"},
      {R"({"type":"integer"})", "1.00000000000000000000001", "1.0"},
      {R"({"type":"integer"})", "5.5", "5.5"},
      {R"({"type":"integer"})", "five", "\"five\""},
      {R"({"type":"integer"})", "\"5\"", "\"5\""},
      {R"({"type":"integer"})", "none", "null"},
      {R"({"type":"integer"})", "", "\"\""},
      {R"({"type":"number"})", "5", "5"},
      {R"({"type":"number"})", "5.0", "5.0"},
      {R"({"type":["number","integer"]})", "5.0", "5.0"},
      {R"({"type":"boolean"})", " TRUE ", "true"},
      {R"({"type":"boolean"})", "False", "false"},
      {R"({"type":"boolean"})", "yes", "\"yes\""},
      {R"({"type":["string","null"]})", "None", "null"},
      {R"({"type":["string","null"]})", "null", "null"},
      {R"({"type":["string","integer"]})", "5", "5"},
      {R"({"type":["string","integer"]})", "5.0", "5"},
      {R"({"type":["string","integer"]})", " 5.5 ", "\" 5.5 \""},
      {R"({"type":["string","integer"]})", "\"5\"", "\"\\\"5\\\"\""},
      {R"({"type":["string","integer"]})", "none", "\"none\""},
      {R"({"type":"string","nullable":true})", "5", "\"5\""},
      {R"({"type":"string","nullable":true})", "NULL", "null"},
      {R"({"nullable":true})", "5", "5"},
      {R"({"enum":["a","b"]})", "5", "\"5\""},
      {R"({"enum":[1,2]})", "2", "2"},
      {R"({"const":true})", "True", "true"},
      {R"({"properties":{}})", "None", "null"},
      {R"({"items":{}})", "[1]", "[1]"},
      {R"({"anyOf":[{"type":"integer"},{"oneOf":[{"type":"null"}]}]})", "NONE", "null"},
      {R"({"allOf":[{"type":"string"}]})", "7", "\"7\""},
      {R"({"type":"array"})", "[\"\\ud800\"]", "\"[\\\"\\\\ud800\\\"]\""},
  };
  for (const Case& c : cases) EXPECT_EQ(ArgumentText(c.raw, Types(c.schema)), c.expected) << c.schema << " " << c.raw;
}

TEST(ToolTypes, FindsToolsAndParameters) {
  const ToolTypes tools(*ParseJsonKeepingNumbers(R"([
      {"function": {"name": "a", "parameters": {"properties": {"x": {"type": "string"}}}}}, {"name": "ab"}, {"name": 5}, {}])"));
  EXPECT_TRUE(tools.Of("a", "x").IsOnly(TypeSet::kString));
  EXPECT_TRUE(tools.Of("a", "y").empty());
  EXPECT_TRUE(tools.Of("c", "x").empty());
  EXPECT_EQ(tools.LongestNameAtStart("abc"), "ab");
  EXPECT_EQ(tools.LongestNameAtStart("b"), "");
  EXPECT_EQ(ToolTypes(OrderedJson()).LongestNameAtStart("abc"), "");
}

}  // namespace
}  // namespace hearth::text
