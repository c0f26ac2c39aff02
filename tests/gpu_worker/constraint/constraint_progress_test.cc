#include "gpu_worker/constraint/constraint_progress.h"

#include <gtest/gtest.h>

#include "gpu_worker/constraint/constraint_cache.h"
#include "tests/common/automaton/sample_automata.h"
#include "tests/gpu_worker/constraint/tiny_vocabulary.h"

namespace hearth {
namespace {

int32_t IdOf(std::string_view bytes) {
  const auto& all = TinyVocabulary()->bytes.ordinary;
  for (size_t id = 0; id < all.size(); ++id) {
    if (all[id] == bytes) return static_cast<int32_t>(id);
  }
  HEARTH_CHECK(false, "no such token");
  return -1;
}

ConstraintSpec Spec(const Automaton& automaton) {
  return {.program = std::make_shared<ConstraintProgram>(automaton, TinyVocabulary(),
                                                         ConstraintProgram::Stops{.ids = {kEndOfText}})};
}

TEST(ConstraintProgress, BeginsBehindItsToken) {
  ConstraintSpec spec = Spec(Choice({"ab"}));
  spec.start_after = kThinkEnd;
  ConstraintProgress progress(spec);
  EXPECT_EQ(*progress.Mask(), nullptr);
  EXPECT_TRUE(progress.Advance(kEndOfText).ok()) << "a stop id may come before it begins";
  EXPECT_TRUE(progress.Advance(IdOf("z")).ok());
  EXPECT_FALSE(progress.can_end());
  ASSERT_TRUE(progress.Advance(kThinkEnd).ok());
  const TokenMask* mask = *progress.Mask();
  ASSERT_NE(mask, nullptr);
  EXPECT_TRUE(mask->Has(IdOf("a")));
  EXPECT_FALSE(mask->Has(IdOf("z")));
  EXPECT_EQ(progress.Advance(IdOf("z")).code(), StatusCode::kInvalidArgument);
}

TEST(ConstraintProgress, MustBeginBansStopIdsUntilThen) {
  ConstraintSpec spec = Spec(Choice({"ab"}));
  spec.start_after = kThinkEnd;
  spec.must_begin = true;
  ConstraintProgress progress(spec);
  const TokenMask* mask = *progress.Mask();
  ASSERT_NE(mask, nullptr);
  EXPECT_FALSE(mask->Has(kEndOfText));
  EXPECT_TRUE(mask->Has(IdOf("z")));
  EXPECT_EQ(progress.Advance(kEndOfText).code(), StatusCode::kInvalidArgument);
}

TEST(ConstraintProgress, RefusesAnEndWhereThereIsNone) {
  ConstraintProgress progress(Spec(Choice({"ab"})));
  EXPECT_EQ(progress.Advance(kEndOfText).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(progress.Advance(IdOf("a")).ok());
  ASSERT_TRUE(progress.Advance(IdOf("b")).ok());
  EXPECT_TRUE(progress.can_end());
  EXPECT_TRUE(progress.Advance(kEndOfText).ok());
}

TEST(ConstraintProgress, SaysWhenNothingMayFollow) {
  // The only way on is an added token that this vocabulary does not have.
  Automaton automaton = OneRule();
  automaton.AddToken(0, 4096 + 5, automaton.AddState(true));
  ConstraintProgress progress(Spec(automaton));
  const auto mask = progress.Mask();
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.status().code(), StatusCode::kInternal);
  EXPECT_NE(mask.status().message().find("constraint"), std::string::npos);
}

TEST(ConstraintProgress, SaysWhenDepthIsTheReason) {
  // Any number of a, the way back b by b; it turns at a token that this vocabulary does not have.
  Automaton automaton = OneRule();
  const int32_t nested_start = automaton.AddState(), open = automaton.AddState(), close = automaton.AddState();
  const int32_t nested = AddRule(automaton, nested_start), end = automaton.AddState(true);
  automaton.AddBytes(nested_start, 'a', 'a', open);
  automaton.AddToken(nested_start, 4096 + 5, end);
  automaton.AddCall(open, nested, close);
  automaton.AddBytes(close, 'b', 'b', end);
  automaton.AddCall(0, nested, end);
  ASSERT_TRUE(automaton.Check().ok());
  ConstraintProgress progress(Spec(automaton));
  const int32_t a = IdOf("a");
  for (uint32_t i = 0; i < WalkSpace::kMaxDepth; ++i) ASSERT_TRUE(progress.Advance(a).ok()) << i;
  const auto mask = progress.Mask();
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.status().code(), StatusCode::kInternal);
  EXPECT_NE(mask.status().message().find("128 rules deep"), std::string::npos) << mask.status().message();
}

TEST(ConstraintCache, SharesProgramsOfTheSameRequest) {
  ConstraintCache cache(TinyVocabulary());
  const std::string ab = Choice({"ab"}).Serialize(), cd = Choice({"cd"}).Serialize();
  const auto first = cache.Get(ab, {.ids = {1}});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*cache.Get(ab, {.ids = {1}}), *first);
  EXPECT_NE(*cache.Get(ab, {.ids = {2}}), *first);
  EXPECT_NE(*cache.Get(cd, {.ids = {1}}), *first);
  for (size_t i = 0; i < ConstraintCache::kMaxPrograms; ++i) {
    ASSERT_TRUE(cache.Get(Choice({std::string("x") + static_cast<char>('a' + i)}).Serialize(), {}).ok());
  }
  EXPECT_NE(*cache.Get(ab, {.ids = {1}}), *first) << "forgotten";
  EXPECT_EQ(cache.Get("HAUT", {}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hearth
