#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>

#include "gateway/grammar/answer_grammar.h"
#include "gateway/text/utf8.h"
#include "tests/gateway/grammar/random_schema.h"
#include "tests/support/accepts.h"

namespace hearth::grammar {
namespace {

using test::Language;
using text::OrderedJson;

Language Of(const std::string& schema) { return Language(CompileJsonSchema(OrderedJson::parse(schema))); }

struct Case {
  const char* schema;
  std::vector<const char*> accepted, refused;
};

class Schema : public ::testing::TestWithParam<Case> {};

TEST_P(Schema, AcceptsAndRefuses) {
  const Language language = Of(GetParam().schema);
  for (const char* text : GetParam().accepted) EXPECT_TRUE(language.Accepts(text)) << GetParam().schema << "\n" << text;
  for (const char* text : GetParam().refused) EXPECT_FALSE(language.Accepts(text)) << GetParam().schema << "\n" << text;
}

INSTANTIATE_TEST_SUITE_P(
    All, Schema,
    ::testing::Values(
        Case{R"({})", {"1", "null", R"({"a": [1, {"b": "c"}]})", "[]", R"("x")"}, {"", "nul", "{,}", "[1,]", "01"}},
        Case{R"({"type":"string"})",
             {R"("")", R"("é\n\"\\\/\u00e9\uD83D\uDE00")", "\"\xF0\x9F\x98\x80\""},
             {R"("\ud800")", R"("\udc00\ud800")", "\"\n\"", "\"\x80\"", "\"", R"("\x")", "\"\xED\xA0\x80\""}},
        Case{R"({"type":["string","null"]})", {R"("a")", "null"}, {"1", "true"}},
        Case{R"({"type":"number"})", {"0", "-1.5", "1e5", "2.5E-10", "-0"}, {"+1", ".5", "1.", "1e", "0x1", "00"}},
        Case{R"({"type":"integer"})",
             {"0", "-12", "12345678901234567890"},
             {"1.0", "1e3", "-", "123456789012345678901"}},
        Case{R"({"type":"integer","minimum":-5,"exclusiveMaximum":12})", {"-5", "0", "11"}, {"-6", "12", "1.0"}},
        Case{R"({"type":"number","minimum":0,"maximum":1})", {"0", "1", "0.5", "1.0"}, {"-0.1", "1.1", "1e0"}},
        Case{R"({"minimum":3})", {"3", "4.5"}, {"2", R"("x")"}},
        Case{R"({"type":"string","minLength":2,"maxLength":3})",
             {R"("ab")", R"("äöü")", R"("\n\u0041")", R"("\ud83d\ude00\t")"},
             {R"("a")", R"("abcd")", R"("")"}},
        Case{R"({"type":"string","pattern":"^[a-c]+$"})", {R"("abc")"}, {R"("")", R"("abd")"}},
        Case{R"({"type":"string","pattern":"b\"c|^x"})",
             {R"("ab\"cd")", R"("xyz")", R"("b\"c")"},
             {R"("yx")", R"("b")"}},
        Case{R"({"type":"string","format":"date"})",
             {R"("2024-12-31")"},
             {R"("2024-13-01")", R"("2023-04-31")", R"("x")"}},
        Case{R"({"type":"string","format":"uuid"})", {R"("00000000-0000-4000-8000-00000000abcd")"}, {R"("0")"}},
        Case{R"({"enum":["a",1,null,{"b":[true]}]})", {R"("a")", "1", "null", R"({"b": [true]})"}, {"2", R"("b")"}},
        Case{R"({"type":"string","enum":["a",1]})", {R"("a")"}, {"1"}},
        Case{R"({"const":"é\n"})", {R"("é\n")"}, {R"("e")"}},
        Case{R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]})",
             {R"({"a": 1})", R"({"a":1,"b":"x"})", "{\n  \"a\": 1,\n  \"b\": \"x\"\n}"},
             {"{}", R"({"b": "x"})", R"({"b": "x", "a": 1})", R"({"a": 1, "c": 2})", R"({"a": 1,})", R"({ , "a": 1})",
              "{\n\n\"a\": 1}", R"({"a"  : 1})"}},
        Case{R"({"type":"object","properties":{"a":{},"b":{},"c":{}}})",
             {"{}", R"({"a": 1})", R"({"b": 1})", R"({"a": 1, "c": 1})", R"({"c": 1})", R"({"a": 1, "b": 2, "c": 3})"},
             {R"({"c": 1, "a": 1})", R"({"a": 1, "a": 1})", R"({,"a": 1})", R"({"d": 1})"}},
        Case{R"({"type":"object","properties":{"ab":{"type":"null"}},"additionalProperties":{"type":"integer"}})",
             {"{}", R"({"ab": null})", R"({"ab": null, "x": 1, "abc": 2, "a": 3, "": 4})", R"({"ac": 1})",
              R"({"é": 1})"},
             {R"({"ab": 1})", R"({"x": 1, "ab": null})", R"({"x": 1, "ab": 1})", R"({"x": "y"})", R"({"\u0061b": 1})"}},
        Case{R"({"type":"object","additionalProperties":{"type":"boolean"}})",
             {"{}", R"({"a": true})"},
             {R"({"a": 1})"}},
        Case{R"({"type":"object","required":["k"]})", {R"({"k": [1]})"}, {"{}"}},
        Case{R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3})",
             {"[1]", "[1, 2]", "[1,2,3]", "[\n 1\n]"},
             {"[]", "[1, 2, 3, 4]", "[true]", "[1,]"}},
        Case{R"({"type":"array","items":{"type":"integer"},"minItems":2})",
             {"[1, 2]", "[1, 2, 3, 4, 5]"},
             {"[1]", "[]"}},
        Case{R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
        Case{R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
             {"[]", "[1]", R"([1, "a"])"},
             {R"(["a"])", R"([1, "a", 2])"}},
        Case{R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":1})",
             {"[1]", "[1, null]", "[1, null, null]"},
             {"[]", "[null]", "[1, 1]"}},
        Case{R"({"anyOf":[{"type":"integer"},{"type":"object","properties":{"x":{"type":"null"}},"required":["x"]}]})",
             {"5", R"({"x": null})"},
             {"null", "{}"}},
        Case{R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", {"5", R"("a")"}, {"null"}},
        Case{R"({"oneOf":[{"type":"object","properties":{"t":{"const":"a"}},"required":["t"]},
                          {"type":"object","properties":{"t":{"const":"b"}},"required":["t"]}]})",
             {R"({"t": "a"})", R"({"t": "b"})"},
             {R"({"t": "c"})"}},
        Case{R"({"allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"integer"}}})", {"1"}, {"null"}},
        Case{R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},
                 "next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v","next"]}}})",
             {R"({"v": 1, "next": null})", R"({"v": 1, "next": {"v": 2, "next": {"v": 3, "next": null}}})"},
             {R"({"v": 1})", R"({"v": 1, "next": {"v": 2}})"}},
        Case{R"({"type":"object","title":"t","description":"d","default":{},"x-order":1,"properties":{}})",
             {"{}", R"({"a": 1})"},
             {"[]"}}));

struct Refusal {
  const char* schema;
  const char* names;  // keyword and place
};

class SchemaRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(SchemaRefusal, NamesKeywordAndPlace) {
  const Result<std::string> compiled = CompileJsonSchema(OrderedJson::parse(GetParam().schema));
  ASSERT_FALSE(compiled.ok()) << GetParam().schema;
  EXPECT_NE(compiled.status().message().find(GetParam().names), std::string::npos) << compiled.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, SchemaRefusal,
    ::testing::Values(
        Refusal{R"({"not":{}})", "not at #"}, Refusal{R"({"if":{}})", "if at #"},
        Refusal{R"({"type":"object","properties":{"a":{"patternProperties":{}}}})",
                "patternProperties at #/properties/a"},
        Refusal{R"({"type":"array","items":{"type":"array","uniqueItems":true}})", "uniqueItems at #/items"},
        Refusal{R"({"type":"object","minProperties":1})", "minProperties at #"},
        Refusal{R"({"type":"integer","multipleOf":3})", "multipleOf at #"},
        Refusal{R"({"type":"array","contains":{}})", "contains at #"},
        Refusal{R"({"type":"array","items":[{}]})", "items at #"},
        Refusal{R"({"type":"string","nullable":true})", "nullable at #"},
        Refusal{R"({"type":"string","format":"email"})", "format at #"},
        Refusal{R"-({"type":"string","pattern":"(?=a)"})-", "pattern at # cannot be enforced: look-around"},
        Refusal{R"({"type":"string","pattern":"a","maxLength":3})", "maxLength at # beside pattern"},
        Refusal{R"({"type":"string","maxLength":100000})", "maxLength at #"},
        Refusal{R"({"type":"string","minLength":-1})", "minLength at #"},
        Refusal{R"({"type":"string","minLength":3,"maxLength":2})", "maxLength at #"},
        Refusal{R"({"type":"array","maxItems":1.5})", "maxItems at #"},
        Refusal{R"({"type":"number","minimum":1e-9})", "minimum at #"},
        Refusal{R"({"type":"number","minimum":2,"maximum":1})", "minimum at #"},
        Refusal{R"({"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2})", "admits no text"},
        Refusal{R"({"type":"thing"})", "type at #"}, Refusal{R"({"type":[]})", "type at #"},
        Refusal{R"({"enum":[]})", "enum at #"}, Refusal{R"({"type":"null","enum":[1]})", "enum at #"},
        Refusal{R"({"enum":[1],"minimum":0})", "minimum at # beside enum"}, Refusal{R"({"anyOf":[]})", "anyOf at #"},
        Refusal{R"({"anyOf":[{}],"type":"object"})", "type at # beside anyOf"},
        Refusal{R"({"allOf":[{"type":"object"},{"type":"object"}]})", "allOf at #"},
        Refusal{R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "oneOf at #"},
        Refusal{R"({"$ref":"#/$defs/x"})", "$ref at #"}, Refusal{R"({"$ref":"other.json"})", "$ref at #"},
        Refusal{R"({"$ref":"#"})", "refers to itself"},
        Refusal{R"({"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}}})",
                "refers to itself"},
        Refusal{R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "admits no text"},
        Refusal{R"({"type":"object","properties":{},"required":["a"],"additionalProperties":false})", "required at #"},
        Refusal{R"({"type":"object","properties":{"a":false}})", "at #/properties/a is false"},
        Refusal{R"({"type":"object","properties":{"a":3}})", "at #/properties/a is no object"},
        Refusal{R"({"type":"array","minItems":2,"prefixItems":[{}],"items":false})", "minItems at #"},
        Refusal{R"({"type":"array","maxItems":4000,"items":{"type":"array","maxItems":4000,"items":{"type":"string",
                 "maxLength":8000}},"prefixItems":[{"type":"array","maxItems":4096},{"type":"array","maxItems":4096},
                 {"type":"array","maxItems":4096},{"type":"array","maxItems":4096},{"type":"array","maxItems":4096},
                 {"type":"array","maxItems":4096},{"type":"array","maxItems":4096},{"type":"array","maxItems":4096}]})",
                "too large"}));

TEST(Schema, RandomDocumentsAreJudgedAsAValidatorDoes) {
  test::SchemaMaker make(11);
  int valid = 0, invalid = 0;
  for (int round = 0; round < 400; ++round) {
    const OrderedJson schema = make.Schema(3);
    const Language language(CompileJsonSchema(schema));
    for (int i = 0; i < 10; ++i) {
      const OrderedJson document = make.Valid(schema);
      ASSERT_TRUE(test::IsValid(schema, document)) << schema << "\n" << document;
      ASSERT_TRUE(language.Accepts(text::JsonText(document))) << schema << "\n" << document;
      ASSERT_TRUE(language.Accepts(document.dump())) << schema << "\n" << document;
      const OrderedJson mutated = make.Mutated(document);
      const bool expected = test::IsValid(schema, mutated);
      ++(expected ? valid : invalid);
      ASSERT_EQ(language.Accepts(text::JsonText(mutated)), expected) << schema << "\n" << mutated;
    }
  }
  EXPECT_GT(valid, 100);
  EXPECT_GT(invalid, 1000);
}

TEST(JsonObject, TakesObjectsWithBoundedBlanks) {
  const Language language(CompileJsonObject());
  EXPECT_TRUE(language.Accepts("{}"));
  EXPECT_TRUE(language.Accepts(R"({"a": {"b": [1, 2, "x"]}, "c": null})"));
  EXPECT_TRUE(language.Accepts("{\n    \"a\": [\n        1\n    ]\n}"));
  for (const char* text : {"[]", "1", "", "{}{}", " {}", "{} ", R"({"a" : 1})", R"({"a":  1})"}) {
    EXPECT_FALSE(language.Accepts(text)) << text;
  }
  EXPECT_FALSE(language.Begins("{\n" + std::string(33, ' ')));
  EXPECT_FALSE(language.Begins("{\n\n"));
  EXPECT_FALSE(language.Begins(R"({"a": )" + std::string(21, '1')));
}

TEST(Schema, RecursiveBranchesAreComparedInBoundedTime) {
  OrderedJson properties = OrderedJson::object(), names = OrderedJson::array();
  for (int i = 0; i < 30; ++i) {
    properties["p" + std::to_string(i)] = {{"$ref", "#/$defs/n"}};
    names.push_back("p" + std::to_string(i));
  }
  const OrderedJson node = {{"type", "object"}, {"properties", properties}, {"required", names}};
  const OrderedJson schema = {{"oneOf", {{{"$ref", "#/$defs/n"}}, {{"$ref", "#/$defs/n"}}}}, {"$defs", {{"n", node}}}};
  EXPECT_NE(CompileJsonSchema(schema).status().message().find("oneOf at #"), std::string::npos);
}

// Milliseconds until a schema is compiled or refused.
double Took(const OrderedJson& schema, Status& status) {
  const auto begin = std::chrono::steady_clock::now();
  status = CompileJsonSchema(schema).status();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

OrderedJson Numbered(int first, int count, const std::string& prefix) {
  OrderedJson out = OrderedJson::array();
  for (int i = first; i < first + count; ++i) out.push_back(prefix + std::to_string(i));
  return out;
}

OrderedJson Members(const OrderedJson& names, const OrderedJson& value) {
  std::string text = "{";
  for (const OrderedJson& name : names) text += (text.size() > 1 ? "," : "") + name.dump() + ":" + value.dump();
  return *text::ParseJsonKeepingNumbers(text + "}");
}

// Far above what it takes, far below what work that is quadratic in these sizes takes.
constexpr double kSoonMs = 2000;

TEST(SchemaTime, ListsAboveTheBoundAreRefused) {
  OrderedJson one = OrderedJson::array(), other = OrderedJson::array();
  for (int i = 0; i < 300'000; ++i) (i % 2 ? one : other).push_back(i);
  const OrderedJson names = Numbered(0, 300'000, "p");
  OrderedJson twice = {{"oneOf", {{{"$ref", "#/$defs/a"}}, {{"$ref", "#/$defs/b"}}}}};
  twice["$defs"] = {{"a", {{"enum", one}}}, {"b", {{"enum", other}}}};
  for (const OrderedJson& schema :
       {OrderedJson{{"oneOf", {{{"enum", one}}, {{"enum", other}}}}}, twice,
        OrderedJson{{"type", "object"}, {"properties", Members(names, true)}, {"required", names}},
        OrderedJson{{"const", std::string(5 << 20, 'a')}}}) {
    Status status;
    EXPECT_LT(Took(schema, status), kSoonMs);
    EXPECT_NE(status.message().find("the schema at # is too large: at most"), std::string::npos) << status.message();
  }
}

TEST(SchemaTime, LongListsBelowTheBound) {
  OrderedJson one = OrderedJson::array(), other = OrderedJson::array();
  for (int i = 0; i < 20'000; ++i) (i % 2 ? one : other).push_back(i);
  const OrderedJson names = Numbered(0, 12'000, "p");
  OrderedJson characters = OrderedJson::array(), references = OrderedJson::array();
  for (uint32_t c = 0x4E00; c < 0x4E00 + 20'000; c += 2) {
    std::string name;
    text::AppendUtf8(name, c);
    characters.push_back(name);
  }
  for (const OrderedJson& name : names) references.push_back({{"$ref", "#/$defs/" + name.get<std::string>()}});
  const OrderedJson long_name = {{std::string(1 << 20, 'n'), {{"properties", Members(names, {{"type", "null"}})}}}};
  for (const OrderedJson& schema : {
           OrderedJson{{"oneOf", {{{"enum", one}}, {{"enum", other}}}}},
           OrderedJson{{"type", "object"}, {"properties", Members(names, true)}, {"required", names}},
           OrderedJson{{"properties", Members(characters, {{"type", "null"}})}, {"additionalProperties", true}},
           OrderedJson{{"anyOf", references}, {"$defs", Members(names, {{"type", "null"}})}},
           OrderedJson{{"oneOf", references}, {"$defs", Members(names, {{"type", "null"}})}},
           OrderedJson{{"properties", long_name}},
       }) {
    Status status;
    const double took = Took(schema, status);
    EXPECT_LT(took, kSoonMs) << schema.begin().key();
    RecordProperty(schema.begin().key() + std::to_string(schema.begin()->size()), std::to_string(took));
  }
}

TEST(Schema, ValuesThatAreBeginningsOfEachOther) {
  OrderedJson values = OrderedJson::array();
  for (int i = 1; i <= 2800; ++i) values.push_back(std::string(static_cast<size_t>(i), 'a'));
  // On a stack that has no room for a call per value.
  struct Work {
    OrderedJson schema;
    Result<std::string> compiled = Internal("not run");
  } work{.schema = {{"enum", values}}};
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_t thread;
  const auto compile = [](void* given) -> void* {
    auto& its = *static_cast<Work*>(given);
    its.compiled = CompileJsonSchema(its.schema);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, compile, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
  const Language language(work.compiled);
  EXPECT_TRUE(language.Accepts(text::JsonText(values.front())));
  EXPECT_TRUE(language.Accepts(text::JsonText(values.back())));
  EXPECT_FALSE(language.Accepts(text::JsonText(std::string(2801, 'a'))));
}

TEST(Schema, ListedValuesAreComparedAsJson) {
  const auto says = [](const char* one, const char* other) {
    return CompileJsonSchema({{"oneOf", {{{"enum", OrderedJson::parse(one)}}, {{"enum", OrderedJson::parse(other)}}}}})
        .status()
        .message();
  };
  EXPECT_EQ(says(R"([1,{"a":1}])", R"([2,{"a":2},"1"])"), "");
  EXPECT_NE(says(R"([{"a":1,"b":2}])", R"([{"b":2,"a":1}])").find("oneOf at #"), std::string::npos);
  EXPECT_NE(says("[1]", "[1.0]").find("oneOf at #"), std::string::npos);
}

TEST(Choice, ManyTextsWithOneBeginning) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back("a long common beginning " + std::to_string(i));
  const Language language(CompileChoice(texts));
  for (const std::string& text : texts) ASSERT_TRUE(language.Accepts(text));
  EXPECT_FALSE(language.Accepts("a long common beginning 1000"));
  EXPECT_FALSE(language.Accepts("a long common beginning "));
}

TEST(Choice, TakesOneOfTheTexts) {
  const Language language(CompileChoice({"yes", "no", "yesterday"}));
  for (const char* text : {"yes", "no", "yesterday"}) EXPECT_TRUE(language.Accepts(text));
  for (const char* text : {"", "ye", "yesno", "not"}) EXPECT_FALSE(language.Accepts(text)) << text;
}

}  // namespace
}  // namespace hearth::grammar
