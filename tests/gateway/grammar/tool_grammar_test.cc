#include "gateway/grammar/tool_grammar.h"

#include <gtest/gtest.h>

#include "gateway/grammar/json_rules.h"

#include "tests/support/accepts.h"

namespace hearth::grammar {
namespace {

using test::Language;
using test::Mixed;
using text::OrderedJson;

constexpr MarkupIds kIds{.think_end = 1, .call = 2, .call_end = 3, .key = 4, .key_end = 5, .value = 6, .value_end = 7};
constexpr int32_t kOther = 99;

OrderedJson Tool(const std::string& name, const char* parameters, bool strict = false) {
  OrderedJson tool = {{"type", "function"}, {"function", {{"name", name}}}};
  if (parameters != nullptr) tool["function"]["parameters"] = OrderedJson::parse(parameters);
  if (strict) tool["function"]["strict"] = true;
  return tool;
}

// Tags by name, all else as bytes: "<call>f<key>a</key><value>1</value></call>".
Mixed Read(std::string text) {
  constexpr std::pair<const char*, int32_t> kTags[] = {{"</think>", 1}, {"<call>", 2},      {"</call>", 3},
                                                       {"<key>", 4},    {"</key>", 5},      {"<value>", 6},
                                                       {"</value>", 7}, {"<other>", kOther}};
  Mixed out;
  std::string bytes;
  while (!text.empty()) {
    bool tag = false;
    for (const auto& [name, id] : kTags) {
      if (!text.starts_with(name)) continue;
      out.emplace_back(std::exchange(bytes, ""));
      out.emplace_back(id);
      text.erase(0, std::string(name).size());
      tag = true;
      break;
    }
    if (tag) continue;
    bytes += text[0];
    text.erase(0, 1);
  }
  out.emplace_back(bytes);
  return out;
}

class ToolGrammar : public ::testing::Test {
 protected:
  void Check(const std::vector<const char*>& accepted, const std::vector<const char*>& refused) {
    const Language language(CompileTools(rules_, kIds));
    for (const char* text : accepted) EXPECT_TRUE(language.Accepts(Read(text))) << text;
    for (const char* text : refused) EXPECT_FALSE(language.Accepts(Read(text))) << text;
  }

  ToolRules rules_{
      .tools = {Tool("get", R"({"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"}},
                                             "required":["city"]})"),
                Tool("ping", R"({"type":"object","properties":{}})"), Tool("free", nullptr)}};
};

TEST_F(ToolGrammar, RequiredAfterThinking) {
  rules_.must_call = true;
  rules_.in_reasoning = true;
  Check({"why <other> not</think><call>ping</call>", "</think><call>ping</call><call>ping</call>",
         "</think><call>get<key>n</key><value>1</value><key>city</key><value>a < b</value></call>",
         "</think><call>free<key>any</key><value></value></call>", "</think><call>free</call>"},
        {"</think>", "why", "<call>ping</call>", "</think>text<call>ping</call>", "</think><call>ping</call>text",
         "a<call>ping</call></think><call>ping</call>", "</think><call>pong</call>", "</think><call>pin</call>",
         "</think><call>get</call>", "</think><call>get<key>n</key><value>1</value></call>",
         "</think><call>get<key>town</key><value>x</value></call>",
         "</think><call>get<key>city</key><value>x</value><key>city</key><value>x</value></call>",
         "</think><call>ping<key>a</key><value>b</value></call>", "</think><call>ping</call></think>"});
}

TEST_F(ToolGrammar, NamedAndAloneAtOnce) {
  rules_.must_call = true;
  rules_.parallel = false;
  rules_.only = {"get"};
  Check({"<call>get<key>city</key><value>x</value></call>"},
        {"", "<call>ping</call>", "<call>get<key>city</key><value>x</value></call><call>ping</call>",
         "</think><call>get<key>city</key><value>x</value></call>"});
}

TEST_F(ToolGrammar, ManyFunctionsWithOneBeginning) {
  rules_.must_call = true;
  rules_.tools = OrderedJson::array();
  for (int i = 0; i < 400; ++i) rules_.tools.push_back(Tool("get_thing_" + std::to_string(i), R"({"properties":{}})"));
  const Language language(CompileTools(rules_, kIds));
  for (int i = 0; i < 400; ++i) {
    EXPECT_TRUE(language.Accepts(Read("<call>get_thing_" + std::to_string(i) + "</call>"))) << i;
  }
  EXPECT_FALSE(language.Accepts(Read("<call>get_thing_</call>")));
}

TEST_F(ToolGrammar, ManyFunctionsThatDeclareNothing) {
  rules_.must_call = true;
  rules_.tools = OrderedJson::array();
  for (int i = 0; i < 400; ++i) rules_.tools.push_back(Tool("get_thing_" + std::to_string(i), nullptr));
  Check(
      {"<call>get_thing_7</call>", "<call>get_thing_399<key>a</key><value>b</value><key>c</key><value></value></call>"},
      {"<call>get_thing_400</call>", "<call>get_thing_7<key>a</key></call>"});
}

TEST_F(ToolGrammar, ArgumentsThatAreOnlyRequired) {
  rules_.must_call = true;
  rules_.tools = OrderedJson::array({Tool("f", R"({"type":"object","required":["z"]})")});
  Check({"<call>f<key>z</key><value>1</value></call>"},
        {"<call>f</call>", "<call>f<key>a</key><value>1</value></call>"});
}

TEST_F(ToolGrammar, AtMostOneCallAmongFreeText) {
  rules_.parallel = false;
  Check({"", "text <other> more", "text<call>ping</call>", "<call>ping</call>"},
        {"<call>ping</call>x", "<call>ping</call><call>ping</call>", "<call>no</call>"});
  rules_.in_reasoning = true;
  Check({"", "thought", "thought</think>text<call>ping</call>"},
        {"thought<call>ping</call>", "</think><call>ping</call>x", "</think></think>"});
}

TEST_F(ToolGrammar, CallsOrATextOfAForm) {
  Builder form;
  JsonRules json(form);
  form.Define(0, json.Object());
  rules_.text_form = std::make_shared<const std::string>(*form.Finish());
  EXPECT_TRUE(NeedsGrammar(rules_));
  Check({"{}", "{\"a\": [{\"b\": \"x\"}]}", "<call>ping</call>", "<call>ping</call><call>free</call>"},
        {"", "text", "text<call>ping</call>", "{}<call>ping</call>", "<call>ping</call>{}", "<other>", "{", "{}x"});
  rules_.in_reasoning = true;
  rules_.parallel = false;
  Check({"why <other></think>{}", "</think><call>ping</call>"},
        {"", "why", "why</think>", "{}", "</think>x{}", "</think><call>ping</call><call>ping</call>"});
}

TEST_F(ToolGrammar, TagsThatAreSpelledOutAreNoText) {
  rules_.parallel = false;
  const Language language(CompileTools(rules_, kIds));
  EXPECT_FALSE(language.Accepts(Mixed{std::string("a<tool_call>b")}));
  EXPECT_TRUE(language.Accepts(Mixed{std::string("a<<tool_cal>b<")}));
  const auto value = [&](const char* text) {
    return Mixed{2, std::string("free"), 4, std::string("k"), 5, 6, std::string(text), 7, 3};
  };
  EXPECT_TRUE(language.Accepts(value("</arg_valu> <tool_call> </arg_key>")));
  EXPECT_FALSE(language.Accepts(value("x</arg_value>")));
  EXPECT_FALSE(language.Accepts(value("<</tool_call>")));
}

TEST_F(ToolGrammar, StrictFunctionsFollowTheirSchema) {
  rules_.must_call = true;
  rules_.tools =
      OrderedJson::array({Tool("f",
                               R"({"type":"object","additionalProperties":false,"required":["s","e","i"],"properties":{
              "s":{"type":"string"},"e":{"enum":["red","blue"]},"i":{"type":"integer","minimum":0,"maximum":9},
              "o":{"anyOf":[{"type":"string"},{"type":"null"}]},"d":{"type":"string","format":"date"},
              "l":{"type":"array","items":{"type":"string"},"maxItems":2},"r":{"$ref":"#/$defs/q"}},
              "$defs":{"q":{"type":"object","properties":{"z":{"type":"boolean"}},"required":["z"]}}})",
                               /*strict=*/true)});
  const std::string base =
      "<call>f<key>s</key><value>any \"text\"</value><key>e</key><value>red</value><key>i</key><value>7</value>";
  const Language language(CompileTools(rules_, kIds));
  for (const char* more :
       {"", "<key>o</key><value>null</value>", "<key>o</key><value>free</value><key>d</key><value>2024-02-28</value>",
        "<key>l</key><value>[\"a\", \"b\"]</value>", "<key>r</key><value>{\"z\": true}</value>"}) {
    EXPECT_TRUE(language.Accepts(Read(base + more + "</call>"))) << more;
  }
  for (const char* more :
       {"<key>x</key><value>1</value>", "<key>d</key><value>2024-02-30</value>", "<key>l</key><value>[1]</value>",
        "<key>r</key><value>{}</value>", "<key>d</key><value>2024-02-28</value><key>o</key><value>x</value>"}) {
    EXPECT_FALSE(language.Accepts(Read(base + more + "</call>"))) << more;
  }
  EXPECT_FALSE(language.Accepts(Read("<call>f<key>s</key><value>x</value></call>")));
}

TEST_F(ToolGrammar, StringsInsideStrictArgumentsSpellNoClosingTag) {
  rules_.must_call = true;
  rules_.tools = OrderedJson::array({Tool("f", R"({"type":"object","required":["a"],"properties":{"a":{
      "type":"object","additionalProperties":{"type":"string"},"properties":{
        "any":{"type":"array","items":{"type":"string"}},"short":{"type":"string","maxLength":40},
        "like":{"type":"string","pattern":"^.*$"},"of":{"enum":["</tool_call>","a<b"]},"</arg_value>":true}}}})",
                                          /*strict=*/true)});
  const Language language(CompileTools(rules_, kIds));
  const auto call = [](const std::string& a) { return Read("<call>f<key>a</key><value>" + a + "</value></call>"); };
  for (const char* a : {R"({"any": ["a < b <b> <", "<\/arg_value>", "<<\/x", "\u003c/tool_call>", "http://x/<", "/"]})",
                        R"({"short": "a/b \u003c/x"})", R"({"like": "a/b \u003c/x"})", R"({"of": "<\/tool_call>"})",
                        R"({"of": "a<b"})", R"({"<\/arg_value>": "<"})", R"({"other": "a<b"})"}) {
    EXPECT_TRUE(language.Accepts(call(a))) << a;
  }
  for (const char* a : {R"({"any": ["</arg_value>"]})", R"({"any": ["<</tool_call>"]})", R"({"any": ["</"]})",
                        R"({"short": "</tool_call>"})", R"({"like": "</arg_value>"})", R"({"of": "</tool_call>"})",
                        R"({"</arg_value>": "x"})", R"({"o</arg_value>": "x"})"}) {
    EXPECT_FALSE(language.Accepts(call(a))) << a;
  }
}

TEST_F(ToolGrammar, WhatCannotBeEnforcedIsNamed) {
  rules_.must_call = true;
  const auto problem = [&](const OrderedJson& tool) {
    rules_.tools = OrderedJson::array({tool});
    const Result<std::string> compiled = CompileTools(rules_, kIds);
    return compiled.ok() ? std::string("compiled") : compiled.status().param() + "|" + compiled.status().message();
  };
  for (const char* name : {"a b", "a\u2003b", "a\u0085b", "a\u00A0", "a<b", "{a"}) {
    EXPECT_NE(problem(Tool(name, nullptr)).find("tools[0].function.name|"), std::string::npos) << name;
  }
  EXPECT_NE(problem(Tool("f", R"({"properties":{" x":{}},"required":[" x"]})")).find("the name at #/properties/ x"),
            std::string::npos);
  for (const auto& [parameters, names] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"type":"object","properties":{"a":{"type":"string","format":"email"}}})", "format at #/properties/a"},
           {R"({"type":"object","properties":{"a":{"type":["string","array"]}}})", "type at #/properties/a"},
           {R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer","minimum":3}]}}})",
            "minimum at #/properties/a/anyOf/1"},
           {R"({"type":"object","properties":{"a":{"enum":["none",null]}}})", "\"none\""},
           {R"({"type":"object","additionalProperties":true})", "additionalProperties at #"},
           {R"({"type":"object","anyOf":[{}]})", "anyOf at #"},
           {R"({"type":"object","properties":{"<a>":{}}})", "the name at #/properties/<a>"}}) {
    const std::string said = problem(Tool("f", parameters, /*strict=*/true));
    EXPECT_NE(said.find(names), std::string::npos) << said;
    EXPECT_TRUE(said.starts_with("tools[0].function.parameters|")) << said;
  }
}

}  // namespace
}  // namespace hearth::grammar
