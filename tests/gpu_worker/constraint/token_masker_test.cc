#include "gpu_worker/constraint/token_masker.h"

#include <gtest/gtest.h>

#include <random>

#include "gpu_worker/constraint/constraint_program.h"
#include "tests/common/automaton/sample_automata.h"
#include "tests/gpu_worker/constraint/tiny_vocabulary.h"

namespace hearth {
namespace {

// The ids that survive, one by one.
std::vector<int32_t> BruteForce(const AutomatonWalker& at, const ConstraintVocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id) {
    AutomatonWalker walker = at;
    const std::string& bytes = vocabulary.bytes.ordinary[static_cast<size_t>(id)];
    if (vocabulary.IsAdded(id)) {
      walker.AdvanceToken(id);
    } else if (!bytes.empty()) {
      walker.AdvanceText(bytes);
    } else {
      continue;
    }
    if (!walker.empty()) ids.push_back(id);
  }
  return ids;
}

std::vector<int32_t> IdsOf(const TokenMask& mask, size_t size) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(size); ++id) {
    if (mask.Has(id)) ids.push_back(id);
  }
  return ids;
}

// Walks at random along allowed tokens, and compares the mask at every place.
void CompareAlong(const Automaton& automaton, uint64_t seed, int walks, int steps, size_t* compared,
                  bool* filled = nullptr) {
  const auto& vocabulary = TinyVocabulary();
  TokenMasker masker(vocabulary);
  std::mt19937_64 random(seed);
  for (int walk = 0; walk < walks; ++walk) {
    AutomatonWalker walker = AutomatonWalker::Start(automaton);
    for (int step = 0; step < steps; ++step) {
      TokenMask mask;
      ASSERT_TRUE(masker.Fill(walker, mask).ok());
      const std::vector<int32_t> ids = BruteForce(walker, *vocabulary);
      ASSERT_EQ(IdsOf(mask, vocabulary->size()), ids);
      ASSERT_EQ(mask.empty, ids.empty());
      ++*compared;
      if (filled != nullptr) *filled |= walker.space()->full();
      if (ids.empty()) break;
      const int32_t id = ids[random() % ids.size()];
      if (vocabulary->IsAdded(id)) {
        walker.AdvanceToken(id);
      } else {
        walker.AdvanceText(vocabulary->bytes.ordinary[static_cast<size_t>(id)]);
      }
    }
  }
}

TEST(TokenMasker, AgreesWithTryingEveryToken) {
  size_t compared = 0;
  CompareAlong(JsonValue(), 1, 8, 12, &compared);
  CompareAlong(Choice({"hello world", "help", " the end", "\xE2\x82\xAC"}), 2, 6, 12, &compared);
  // A call of a tool: tags around text.
  Automaton call = OneRule(true);
  const int32_t inside = call.AddState();
  call.AddToken(0, kToolCall, inside);
  AddStringCharacters(call, inside);
  call.AddToken(inside, kToolCallEnd, 0);
  call.AddAnyToken(inside, inside);
  call.except = {kToolCall, kEndOfText};
  CompareAlong(call, 3, 6, 12, &compared);
  EXPECT_GT(compared, 60u);
}

TEST(TokenMasker, AgreesOnRandomAutomataOfLetters) {
  std::mt19937_64 random(9);
  size_t compared = 0;
  for (int round = 0; round < 30; ++round) {
    Automaton automaton = OneRule();
    for (int i = 0; i < 9; ++i) automaton.AddState(random() % 3 == 0);
    for (int i = 0; i < 25; ++i) {
      const auto low = static_cast<uint8_t>("  abcehilnorst"[random() % 14]);
      const auto state = [&] { return static_cast<int32_t>(random() % 10); };
      automaton.AddBytes(state(), low, static_cast<uint8_t>(low + random() % 20), state());
    }
    if (automaton.Check().ok()) CompareAlong(automaton, random(), 2, 4, &compared);
  }
  EXPECT_GT(compared, 50u);
}

// Spaces fill up in the middle of a mask here; the mask does not show it.
TEST(TokenMasker, AgreesWhenSpacesOverflow) {
  // A set remembers which of the last fourteen bytes were letters from a to m.
  Automaton automaton = OneRule();
  automaton.AddBytes(0, 0, 'r', 0);
  int32_t at = automaton.AddState();
  automaton.AddBytes(0, 'a', 'm', at);
  for (int i = 0; i < 13; ++i) {
    const int32_t next = automaton.AddState(i == 12);
    automaton.AddBytes(at, 0, 255, next);
    at = next;
  }
  automaton.AddEmpty(at, 0);
  size_t compared = 0;
  bool filled = false;
  CompareAlong(automaton, 4, 2, 25, &compared, &filled);
  EXPECT_EQ(compared, 50u);
  EXPECT_TRUE(filled);
}

// Every byte leads through a hub with many ways to the one state that reads.
Automaton Hub(int ways) {
  Automaton automaton = OneRule();
  const int32_t reader = automaton.AddState(true);
  for (int i = 0; i < ways; ++i) automaton.AddEmpty(0, reader);
  automaton.AddBytes(reader, 0, 255, 0);
  return automaton;
}

TEST(TokenMasker, EdgesThatReadNothingCountAsWork) {
  TokenMasker masker(TinyVocabulary());
  TokenMask mask;
  EXPECT_TRUE(masker.Fill(AutomatonWalker::Start(Hub(100)), mask).ok());
  const AutomatonWalker walker = AutomatonWalker::Start(Hub(100'000));
  EXPECT_EQ(masker.Fill(walker, mask).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(masker.Fill(walker, mask).code(), StatusCode::kInvalidArgument) << "what is known now does not decide";
}

TEST(TokenMasker, EdgesThatNameOneTokenAreOneToken) {
  Automaton automaton = OneRule();
  const int32_t end = automaton.AddState(true);
  for (int i = 0; i < 200'000; ++i) automaton.AddToken(0, kToolCall, end);
  TokenMasker masker(TinyVocabulary());
  TokenMask mask;
  ASSERT_TRUE(masker.Fill(AutomatonWalker::Start(automaton), mask).ok());
  EXPECT_EQ(IdsOf(mask, TinyVocabulary()->size()), std::vector<int32_t>{kToolCall});
}

TEST(ConstraintProgram, StopIdsAreAllowedExactlyWhereTheTextMayEnd) {
  const ConstraintProgram::Stops stops{.ids = {kEndOfText, kUser}};
  Automaton automaton = Choice({"ab"});
  automaton.AddAnyToken(0, 1);
  ConstraintProgram program(automaton, TinyVocabulary(), stops);
  AutomatonWalker walker = program.Start();
  const auto mask = program.MaskFor(walker);
  ASSERT_TRUE(mask.ok());
  EXPECT_FALSE((*mask)->Has(kEndOfText)) << "never text, though any added token is";
  EXPECT_TRUE((*mask)->Has(kToolCall));
  walker.AdvanceText("ab");
  EXPECT_EQ(IdsOf(**program.MaskFor(walker), 4096), stops.ids);

  ConstraintProgram endless(automaton, TinyVocabulary(), {.ids = stops.ids, .ending = false});
  walker = endless.Start();
  walker.AdvanceText("ab");
  EXPECT_TRUE((*endless.MaskFor(walker))->empty);
  EXPECT_EQ(IdsOf(program.all_but_stops(), 4096).size(), 4094u);
}

TEST(ConstraintProgram, KeepsTheMasksUsedLast) {
  Automaton automaton = OneRule(true);
  int32_t at = 0;
  for (size_t i = 0; i < 2 * ConstraintProgram::kMaxMasks; ++i)
    at = automaton.AddText(at, "x", automaton.AddState(true));
  ConstraintProgram program(automaton, TinyVocabulary(), {});
  AutomatonWalker walker = program.Start();
  const auto ask = [&] { ASSERT_TRUE(program.MaskFor(walker).ok()); };
  ask();
  ask();
  EXPECT_EQ(program.masks_made(), 1u);
  for (size_t i = 0; i < ConstraintProgram::kMaxMasks; ++i) {
    walker.AdvanceByte('x');
    ask();
  }
  EXPECT_EQ(program.masks_made(), 1 + ConstraintProgram::kMaxMasks);
  ask();
  EXPECT_EQ(program.masks_made(), 1 + ConstraintProgram::kMaxMasks);
  walker = program.Start();
  ask();
  EXPECT_EQ(program.masks_made(), 2 + ConstraintProgram::kMaxMasks) << "the oldest was dropped";
}

}  // namespace
}  // namespace hearth
