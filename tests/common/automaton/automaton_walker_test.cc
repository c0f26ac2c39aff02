#include "common/automaton/automaton_walker.h"

#include <gtest/gtest.h>

#include "tests/common/automaton/random_automaton.h"
#include "tests/common/automaton/sample_automata.h"

namespace hearth {
namespace {

AutomatonWalker After(const Automaton& automaton, std::string_view text) {
  AutomatonWalker walker = AutomatonWalker::Start(automaton);
  walker.AdvanceText(text);
  return walker;
}

AutomatonWalker After(AutomatonWalker walker, char32_t symbol) {
  if (IsToken(symbol)) {
    walker.AdvanceToken(TokenOf(symbol));
  } else {
    walker.AdvanceByte(static_cast<uint8_t>(symbol));
  }
  return walker;
}

// Compares every text up to a length: whether it is in the language, and whether it begins a text of it.
void CompareAll(const Automaton& automaton, const AutomatonWalker& walker, const Symbols& text,
                const std::set<Symbols>& language, const std::set<Symbols>& beginnings, size_t longest) {
  ASSERT_EQ(walker.can_end(), language.contains(text));
  // A text whose completions are all too long for the enumeration may be alive without being seen there.
  if (beginnings.contains(text)) {
    ASSERT_FALSE(walker.empty());
  }
  if (text.size() == longest || walker.empty()) return;
  for (char32_t symbol : {U'a', U'b', U'c', SymbolOf(100), SymbolOf(101)}) {
    CompareAll(automaton, After(walker, symbol), text + symbol, language, beginnings, longest);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(AutomatonWalker, AgreesWithEnumerationOnRandomAutomata) {
  std::mt19937_64 random(77);
  constexpr size_t kLongest = 4;
  size_t texts = 0, rich = 0;
  for (int round = 0; round < 300; ++round) {
    const Automaton automaton = RandomAutomaton(random);
    const std::set<Symbols> language = Language(automaton, kLongest);
    std::set<Symbols> beginnings;
    for (const Symbols& text : language) {
      for (size_t n = 0; n <= text.size(); ++n) beginnings.insert(text.substr(0, n));
    }
    texts += language.size();
    rich += language.size() > 10;
    CompareAll(automaton, AutomatonWalker::Start(automaton), {}, language, beginnings, kLongest);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "round " << round;
  }
  EXPECT_GT(texts, 1000u);
  EXPECT_GT(rich, 50u);
}

// Whoever is alive can be completed: from any living walker some way leads to an end.
TEST(AutomatonWalker, NothingAliveIsLost) {
  std::mt19937_64 random(78);
  for (int round = 0; round < 300; ++round) {
    const Automaton automaton = RandomAutomaton(random);
    AutomatonWalker walker = AutomatonWalker::Start(automaton);
    for (int step = 0; step < 4 && !walker.empty(); ++step) {
      // Breadth first over what follows; dead ends were dropped, so a way is short.
      std::vector<AutomatonWalker> layer = {walker};
      std::set<std::string> seen;
      bool ends = false;
      while (!layer.empty() && !ends) {
        std::vector<AutomatonWalker> next;
        for (const AutomatonWalker& at : layer) {
          ends |= at.can_end();
          for (char32_t symbol : {U'a', U'b', U'c', SymbolOf(100), SymbolOf(101)}) {
            AutomatonWalker to = After(at, symbol);
            if (!to.empty() && seen.insert(to.Key()).second && seen.size() < 5000) next.push_back(to);
          }
        }
        layer = std::move(next);
      }
      // Only a token that `except` shuts out can make an end unreachable.
      if (automaton.except.empty()) {
        ASSERT_TRUE(ends) << "round " << round;
      }
      const char32_t symbols[] = {U'a', U'b', U'c', SymbolOf(100)};
      walker = After(walker, symbols[random() % 4]);
    }
  }
}

TEST(AutomatonWalker, Nesting) {
  const Automaton json = JsonValue();
  for (const char* text :
       {"1", "[]", "[1,[2,\"x\"],{}]", "{\"a\":{\"b\":[[]]}}", "\"\\u12aF \xC3\xA9 \xF0\x9F\x98\x80\""}) {
    EXPECT_TRUE(After(json, text).can_end()) << text;
  }
  for (const char* text : {"]", "[,", "[1 ", "{1", "\"\\x", "\"\n", "\"\xC0", "\"\xED\xA0", "\"\xF5", "1]"}) {
    EXPECT_TRUE(After(json, text).empty()) << text;
  }
  for (const char* text : {"[", "{\"a\":", "\"\xF0\x9F", "[[1]"}) {
    EXPECT_FALSE(After(json, text).empty()) << text;
    EXPECT_FALSE(After(json, text).can_end()) << text;
  }
}

TEST(AutomatonWalker, DeadEndsAreNotEntered) {
  Automaton automaton = OneRule();
  const int32_t end = automaton.AddState(true), nowhere = automaton.AddState();
  automaton.AddText(0, "ab", end);
  automaton.AddText(0, "ac", nowhere);
  EXPECT_TRUE(After(automaton, "ac").empty());
  EXPECT_FALSE(After(automaton, "ac").cut());
  EXPECT_TRUE(After(automaton, "ab").can_end());
}

TEST(AutomatonWalker, TooDeepIsCutAndSaysSo) {
  const Automaton json = JsonValue();
  const std::string open(WalkSpace::kMaxDepth, '[');
  AutomatonWalker walker = After(json, open);
  EXPECT_FALSE(walker.empty());
  EXPECT_FALSE(After(walker, U']').empty()) << "the way back is open";
  walker.AdvanceText("[[");
  EXPECT_TRUE(walker.empty());
  EXPECT_TRUE(walker.cut());
  EXPECT_EQ(walker.set(), WalkSpace::kDeadByCut);
}

TEST(AutomatonWalker, TooWideIsCutAndSaysSo) {
  // A thousand readings at once; those beyond the bound are dropped, the others live.
  Automaton automaton = OneRule();
  const int32_t end = automaton.AddState(true);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = "a" + std::to_string(i);
    automaton.AddText(0, text, end);
  }
  const AutomatonWalker start = AutomatonWalker::Start(automaton);
  EXPECT_FALSE(start.cut()) << "one state, however many edges";
  const AutomatonWalker wide = After(automaton, "a");
  EXPECT_TRUE(wide.cut());
  EXPECT_FALSE(wide.empty());
  int alive = 0;
  for (int i = 0; i < 1000; ++i) alive += After(automaton, "a" + std::to_string(i)).can_end();
  EXPECT_EQ(alive, static_cast<int>(WalkSpace::kMaxConfigurations));
}

TEST(AutomatonWalker, TooManyEdgesToFollowAreCutAndSayIt) {
  // The called rule's ten thousand ways are followed once for each state to return to.
  const auto calls = [](int count) {
    Automaton automaton = OneRule();
    const int32_t end = automaton.AddState(true), hub = automaton.AddState(), reader = automaton.AddState();
    automaton.AddBytes(reader, 'a', 'a', automaton.AddState(true));
    for (int i = 0; i < 10'000; ++i) automaton.AddEmpty(hub, reader);
    automaton.rules.push_back({.start = hub, .name = "hub"});
    for (int i = 0; i < count; ++i) {
      const int32_t back = automaton.AddState();
      automaton.AddText(back, "b", end);
      automaton.AddCall(0, 1, back);
    }
    EXPECT_TRUE(automaton.Check().ok());
    return automaton;
  };
  EXPECT_FALSE(AutomatonWalker::Start(calls(20)).cut());
  EXPECT_TRUE(AutomatonWalker::Start(calls(64)).cut());
  EXPECT_TRUE(After(calls(64), "ab").can_end()) << "those followed first live";
}

TEST(AutomatonWalker, TokensAreNotBytes) {
  Automaton automaton = OneRule();
  const int32_t inside = automaton.AddState(), end = automaton.AddState(true);
  automaton.AddToken(0, 100, inside);
  automaton.AddBytes(inside, 'a', 'z', inside);
  automaton.AddAnyToken(inside, end);
  automaton.except = {100};
  AutomatonWalker walker = AutomatonWalker::Start(automaton);
  EXPECT_TRUE(After(walker, U'd').empty()) << "byte 100 is not token 100";
  walker.AdvanceToken(100);
  walker.AdvanceText("abc");
  EXPECT_TRUE(After(walker, SymbolOf(100)).empty());
  EXPECT_TRUE(After(walker, SymbolOf(101)).can_end());
}

// A space that is thrown away in between changes nothing.
TEST(AutomatonWalker, MovesBetweenSpaces) {
  const Automaton json = JsonValue();
  const std::string text = "{\"ab\":[1,{\"c\":[[\"x\",7],{}]}],\"d\":\"\\n\"}";
  AutomatonWalker staying = AutomatonWalker::Start(json), moving = AutomatonWalker::Start(json);
  for (char c : text) {
    staying.AdvanceByte(static_cast<uint8_t>(c));
    moving.MoveTo(std::make_shared<WalkSpace>(moving.space()->prepared()));
    moving.AdvanceByte(static_cast<uint8_t>(c));
    ASSERT_EQ(staying.Key(), moving.Key());
  }
  EXPECT_TRUE(moving.can_end());
}

// Sets grow without end here (a counter in the stack), spaces do not.
TEST(AutomatonWalker, LongWalksKeepSpacesSmall) {
  Automaton automaton = OneRule(true);
  std::mt19937_64 random(5);
  for (int i = 0; i < 12; ++i) {
    // Texts over {a, b} whose i-th last symbol is an a: a set for each of 2^12 histories.
    int32_t at = automaton.AddState(i == 11);
    if (i == 0) {
      automaton.AddBytes(0, 'a', 'b', 0);
      automaton.AddBytes(0, 'a', 'a', at);
    } else {
      automaton.AddBytes(at - 1, 'a', 'b', at);
    }
  }
  AutomatonWalker walker = AutomatonWalker::Start(automaton);
  std::set<const WalkSpace*> spaces;
  for (int i = 0; i < 20000; ++i) {
    walker.AdvanceByte(random() % 2 == 0 ? 'a' : 'b');
    spaces.insert(walker.space().get());
    ASSERT_FALSE(walker.empty());
  }
  EXPECT_GT(spaces.size(), 1u);
}

}  // namespace
}  // namespace hearth
