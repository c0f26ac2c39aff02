#include "common/automaton/automaton.h"

#include <gtest/gtest.h>

#include <random>

#include "common/automaton/automaton_walker.h"
#include "tests/common/automaton/random_automaton.h"
#include "tests/common/automaton/sample_automata.h"

namespace hearth {
namespace {

void ExpectRefused(const Automaton& automaton, const std::string& what) {
  const Status status = automaton.Check();
  ASSERT_FALSE(status.ok()) << what;
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  EXPECT_EQ(Automaton::Parse(automaton.Serialize()).status().message(), status.message());
}

TEST(Automaton, ComesBackFromItsWireForm) {
  Automaton automaton = JsonValue();
  automaton.rules[0].name = "value";
  automaton.except = {7, 3};
  automaton.AddToken(0, 41, 1);
  automaton.AddAnyToken(0, 1);
  automaton.AddEmpty(0, 1);
  const auto parsed = Automaton::Parse(automaton.Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(*parsed, automaton);
}

TEST(Automaton, ALongNameIsCutOnTheWire) {
  Automaton automaton = Choice({"a"});
  automaton.rules[0].name = std::string(1000, 'n');
  const auto parsed = Automaton::Parse(automaton.Serialize());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->rules[0].name, std::string(255, 'n'));
}

TEST(Automaton, RefusesWhatCannotBeWalked) {
  ExpectRefused({}, "no rule");
  Automaton automaton = OneRule();
  ExpectRefused(automaton, "admits no text");
  automaton.states[0].end = true;
  EXPECT_TRUE(automaton.Check().ok());

  automaton.rules[0].start = 1;
  ExpectRefused(automaton, "starts at state 1");
  automaton.rules[0].start = -1;
  ExpectRefused(automaton, "starts at state -1");

  automaton = OneRule(true);
  automaton.AddBytes(0, 'a', 'a', 1);
  ExpectRefused(automaton, "leads to state 1");
  automaton = OneRule(true);
  automaton.AddBytes(0, 'b', 'a', 0);
  ExpectRefused(automaton, "empty range");
  automaton = OneRule(true);
  automaton.AddToken(0, -1, 0);
  ExpectRefused(automaton, "token -1");
  automaton = OneRule(true);
  automaton.AddCall(0, 1, 0);
  ExpectRefused(automaton, "calls rule 1");
}

TEST(Automaton, RefusesRulesThatComeBackBeforeReading) {
  // Directly.
  Automaton automaton = OneRule(true);
  automaton.AddCall(0, 0, automaton.AddState(true));
  ExpectRefused(automaton, "before anything is read");
  // Behind another rule that may be empty.
  automaton = OneRule();
  const int32_t maybe = automaton.AddState(true);
  automaton.AddBytes(maybe, 'x', 'x', automaton.AddState(true));
  const int32_t rule = AddRule(automaton, maybe);
  const int32_t middle = automaton.AddState(), end = automaton.AddState(true);
  automaton.AddCall(0, rule, middle);
  automaton.AddCall(middle, 0, end);
  automaton.AddBytes(0, 'y', 'y', end);
  ExpectRefused(automaton, "before anything is read");
  // The same is fine once the other rule cannot be empty.
  automaton.states[static_cast<size_t>(maybe)].end = false;
  EXPECT_TRUE(automaton.Check().ok());
}

TEST(Automaton, RecursionToTheRightAndLoopsOfNothingAreFine) {
  Automaton automaton = OneRule(true);
  const int32_t next = automaton.AddState(), end = automaton.AddState(true);
  automaton.AddBytes(0, 'a', 'a', next);
  automaton.AddCall(next, 0, end);
  automaton.AddEmpty(0, end);
  automaton.AddEmpty(end, 0);
  ASSERT_TRUE(automaton.Check().ok());
  // Through more repeats than a stack could hold: the call has nothing to come back to.
  automaton = OneRule(true);
  const int32_t again = automaton.AddState(), last = automaton.AddState(true);
  automaton.AddBytes(0, 'a', 'a', again);
  automaton.AddCall(again, 0, last);
  ASSERT_TRUE(automaton.Check().ok());
  AutomatonWalker walker = AutomatonWalker::Start(automaton);
  walker.AdvanceText(std::string(1000, 'a'));
  EXPECT_TRUE(walker.can_end());
  EXPECT_FALSE(walker.cut());
}

TEST(Automaton, BoundsAreEnforced) {
  Automaton automaton = OneRule(true);
  automaton.rules.resize(Automaton::kMaxRules + 1);
  ExpectRefused(automaton, "rules");
  automaton = OneRule(true);
  automaton.states.resize(Automaton::kMaxStates + 1);
  ExpectRefused(automaton, "states");
  automaton = OneRule(true);
  automaton.states[0].edges.resize(Automaton::kMaxEdges + 1);
  ExpectRefused(automaton, "edges");
}

// Every damaged form is refused, or is an automaton that passes Check and can be walked.
TEST(Automaton, SurvivesDamagedBytes) {
  std::mt19937_64 random(20240611);
  int accepted = 0;
  const auto try_bytes = [&](const std::string& bytes) {
    const auto parsed = Automaton::Parse(bytes);
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
      return;
    }
    ++accepted;
    ASSERT_TRUE(parsed->Check().ok());
    AutomatonWalker walker = AutomatonWalker::Start(*parsed);
    for (int i = 0; i < 20; ++i) walker.AdvanceByte(static_cast<uint8_t>(random()));
  };
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = (round % 2 == 0 ? JsonValue() : RandomAutomaton(random)).Serialize();
    switch (random() % 4) {
      case 0:
        bytes.resize(random() % bytes.size());
        break;
      case 1:
        bytes.insert(random() % bytes.size(), 1 + random() % 4, static_cast<char>(random()));
        break;
      default:
        for (size_t n = 1 + random() % 3; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    try_bytes(bytes);
  }
  EXPECT_GT(accepted, 100) << "the damage must be small enough to reach the walker";
}

}  // namespace
}  // namespace hearth
