#include "gateway/grammar/regex.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "gateway/grammar/answer_grammar.h"
#include "gateway/text/utf8.h"
#include "tests/support/accepts.h"

namespace hearth::grammar {
namespace {

using test::Language;

Language Of(const std::string& expression) { return Language(CompileRegex(expression)); }

TEST(Regex, MatchesTheWholeText) {
  EXPECT_TRUE(Of("a+b?").Accepts("aab"));
  EXPECT_FALSE(Of("a+b?").Accepts("aabb"));
  EXPECT_FALSE(Of("a|bc").Accepts("abc"));
  EXPECT_TRUE(Of("^(?:a|b){2,3}$").Accepts("aba"));
  EXPECT_FALSE(Of("^(?:a|b){2,3}$").Accepts("abab"));
  EXPECT_TRUE(Of(R"((?P<year>\d{4})-(?<month>\d\d))").Accepts("2024-05"));
  EXPECT_TRUE(Of("a{2,}?").Accepts("aaaa"));
  EXPECT_TRUE(Of(R"(\x41\u00e9\u{1F600}\.\\)").Accepts("A\xC3\xA9\xF0\x9F\x98\x80.\\"));
}

TEST(Regex, ClassesAreOfCharactersNotBytes) {
  EXPECT_TRUE(Of("[à-ö]+").Accepts("éèê"));
  EXPECT_FALSE(Of("[à-ö]+").Accepts("\xC3"));
  EXPECT_TRUE(Of("[^a]").Accepts("é"));
  EXPECT_FALSE(Of("[^a][^b]").Accepts("é"));
  EXPECT_TRUE(Of(".").Accepts("\xF0\x9F\x98\x80"));
  EXPECT_FALSE(Of(".").Accepts("\n"));
  EXPECT_FALSE(Of(".").Accepts("\xED\xA0\x80")) << "a surrogate is no character";
  EXPECT_FALSE(Of(R"(\S)").Accepts("\xC2\xA0"));
  EXPECT_FALSE(Of(R"([^\s])").Accepts("\xC2\xA0"));
  EXPECT_FALSE(Of(R"([^\S])").Accepts("\xC2\xA0"));
  EXPECT_TRUE(Of(R"([^\S])").Accepts(" "));
  EXPECT_TRUE(Of(R"([\w\-])").Accepts("-"));
  EXPECT_TRUE(Of("[a-]").Accepts("-"));
}

TEST(Regex, EveryCharacterOfAClassAndNoOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    CodePointSet set;
    for (int i = 0; i < 3; ++i) {
      const uint32_t low = random() % 0x11000;
      set.Add(low, low + random() % 0x900);
    }
    Builder builder;
    builder.Define(0, Characters(set));
    const Language language(builder.Finish());
    for (uint32_t c = 0; c < 0x12000; c += c < 0x900 ? 1 : 37) {
      if (c >= 0xD800 && c < 0xE000) continue;
      std::string text;
      text::AppendUtf8(text, c);
      ASSERT_EQ(language.Accepts(text), set.Contains(c)) << c;
    }
  }
}

struct Refusal {
  const char* expression;
  const char* names;
};

class RegexRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(RegexRefusal, SaysWhat) {
  const Result<std::string> compiled = CompileRegex(GetParam().expression);
  ASSERT_FALSE(compiled.ok()) << GetParam().expression;
  EXPECT_NE(compiled.status().message().find(GetParam().names), std::string::npos) << compiled.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, RegexRefusal,
    ::testing::Values(Refusal{"(?=a)", "look-around"}, Refusal{"(?!a)", "look-around"},
                      Refusal{"(?<=a)b", "look-around"}, Refusal{"(?<!a)b", "look-around"},
                      Refusal{R"((a)\1)", "back reference"}, Refusal{R"((?<n>a)\k<n>)", "back reference"},
                      Refusal{R"(\bword)", "word boundary"}, Refusal{R"(\p{L})", "\\p"},
                      Refusal{"(?i)a", "this kind of group"}, Refusal{"a++", "possessive"},
                      Refusal{"a{1,2000}", "1000"}, Refusal{"a{3,2}", "ends before"}, Refusal{"*a", "quantifier"},
                      Refusal{"(a", "missing"}, Refusal{"a)", "without its ("}, Refusal{"[a", "missing"},
                      Refusal{"[z-a]", "range"}, Refusal{"a^b", "^ behind"}, Refusal{"(^a)", "inside a group"},
                      Refusal{"a$b", "$ before"}, Refusal{"[[:alpha:]]", "named class"}, Refusal{R"(a\)", "ends early"},
                      Refusal{R"([^\d\D])", "class without characters"}, Refusal{R"(\ud800)", "no character"},
                      Refusal{"((a{1000}){1000}){1000}", "too large"}, Refusal{"a**", "two quantifiers"}));

std::string RandomExpression(std::mt19937& random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::string out;
  for (int part = pick(3) + 1; part > 0; --part) {
    std::string atom;
    switch (pick(depth > 0 ? 7 : 5)) {
      case 0:
        atom = "[ab]";
        break;
      case 1:
        atom = "[^a]";
        break;
      case 2:
        atom = "\\w";
        break;
      case 3:
        atom = ".";
        break;
      case 4:
        atom = std::string(1, "abc-"[pick(4)]);
        break;
      default:
        atom = (pick(2) ? "(" : "(?:") + RandomExpression(random, depth - 1) + "|" +
               RandomExpression(random, depth - 1) + ")";
    }
    constexpr const char* kQuantifiers[] = {"", "", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "*?"};
    out += atom + kQuantifiers[pick(10)];
  }
  return out;
}

TEST(Regex, AgreesWithTheStandardLibrary) {
  std::mt19937 random(7);
  int matches = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string expression = RandomExpression(random, 2);
    const Language language = Of(expression);
    const std::regex standard(expression);
    for (int i = 0; i < 60; ++i) {
      std::string text;
      for (unsigned size = random() % 7; size > 0; --size) text += "abc-"[random() % 4];
      const bool expected = std::regex_match(text, standard);
      matches += expected;
      ASSERT_EQ(language.Accepts(text), expected) << expression << " on " << text;
    }
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace hearth::grammar
