#include "gateway/text/stop_sequences.h"

#include <gtest/gtest.h>

#include "tests/gateway/text/test_data.h"

namespace hearth::text {
namespace {

struct Outcome {
  std::string text;
  bool stopped;
  bool operator==(const Outcome&) const = default;
};

Outcome Feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopSequences sequences(stops);
  std::string text;
  for (const auto& piece : pieces) text += sequences.Push(piece);
  text += sequences.Finish();
  return {text, sequences.stopped()};
}

TEST(StopSequences, CutsBeforeTheStopString) {
  EXPECT_EQ(Feed({"END"}, {"abcENDdef"}), (Outcome{"abc", true}));
  EXPECT_EQ(Feed({"END"}, {"abcE", "N", "Ddef"}), (Outcome{"abc", true}));
  EXPECT_EQ(Feed({"END"}, {"abcEN"}), (Outcome{"abcEN", false}));
  EXPECT_EQ(Feed({"END"}, {"EEEND"}), (Outcome{"EE", true}));
  EXPECT_EQ(Feed({}, {"abc"}), (Outcome{"abc", false}));
  EXPECT_EQ(Feed({"\n\n", "x"}, {"a\n", "\nb"}), (Outcome{"a", true}));
}

TEST(StopSequences, HoldsBackOnlyWhatCouldBeginOne) {
  StopSequences sequences({"</s>"});
  EXPECT_EQ(sequences.Push("abc<"), "abc");
  EXPECT_EQ(sequences.Push("b"), "<b");
  EXPECT_EQ(sequences.Push("x</s"), "x");
  EXPECT_EQ(sequences.Finish(), "</s");
}

TEST(StopSequences, TheOneCompleteFirstCounts) {
  EXPECT_EQ(Feed({"abc", "b"}, {"xabc"}), (Outcome{"xa", true}));
  EXPECT_EQ(Feed({"abc", "b"}, {"x", "a", "b", "c"}), (Outcome{"xa", true}));
  EXPECT_EQ(Feed({"ab", "xab"}, {"xab"}), (Outcome{"", true}));
}

TEST(StopSequences, NothingComesAfterTheStop) {
  StopSequences sequences({"."});
  EXPECT_EQ(sequences.Push("a.b"), "a");
  EXPECT_EQ(sequences.Push("c"), "");
  EXPECT_EQ(sequences.Finish(), "");
}

TEST(StopSequences, NothingLeaksForAnyCut) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const auto word = [&](size_t longest) {
      std::string out;
      for (size_t n = 1 + random() % longest; n > 0; --n) out += "ab\n"[random() % 3];
      return out;
    };
    std::vector<std::string> stops;
    for (size_t n = 1 + random() % 4; n > 0; --n) stops.push_back(word(5));
    const std::string text = word(40);
    // The plain meaning: cut at the stop string whose end comes first.
    Outcome expected{text, false};
    for (size_t end = 1; end <= text.size() && !expected.stopped; ++end) {
      for (const auto& stop : stops) {
        if (!text.substr(0, end).ends_with(stop)) continue;
        expected.text = expected.stopped ? std::min(expected.text, text.substr(0, end - stop.size()))
                                         : text.substr(0, end - stop.size());
        expected.stopped = true;
      }
    }
    EXPECT_EQ(Feed(stops, {text}), expected);
    EXPECT_EQ(Feed(stops, RandomCuts(text, random, 1)), expected);
    EXPECT_EQ(Feed(stops, RandomCuts(text, random, 6)), expected);
    for (const auto& stop : stops) EXPECT_TRUE(expected.text.find(stop) == std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::text
