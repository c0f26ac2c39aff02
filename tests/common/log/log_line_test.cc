#include "common/log/log_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(LogLine, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(QuoteLogText("plain/word:1"), "plain/word:1");
  EXPECT_EQ(QuoteLogText(""), "\"\"");
  EXPECT_EQ(QuoteLogText("two words"), "\"two words\"");
  EXPECT_EQ(QuoteLogText("a=b"), "\"a=b\"");
  EXPECT_EQ(QuoteLogText("say \"x\"\\"), "\"say \\\"x\\\"\\\\\"");
  EXPECT_EQ(QuoteLogText("a\nb\x01"), "\"a\\nb\\x01\"");
  EXPECT_EQ(QuoteLogText("\xC3\xA4"), "\xC3\xA4");
}

TEST(LogLine, PrintsFieldsInOrder) {
  const std::string name = "a b";
  const std::vector<LogField> fields = {
      {"name", name},     {"n", 3},         {"big", UINT64_MAX},
      {"seconds", 1.25},  {"ok", true},     {"less", -1L},
      {"request", "r-1"}, {"took", 1500ms}, {"null", static_cast<const char*>(nullptr)}};
  EXPECT_EQ(FormatLogFields(fields),
            " name=\"a b\" n=3 big=18446744073709551615 seconds=1.25 ok=true less=-1 request=r-1 took=1.5 null=\"\"");
  EXPECT_EQ(FormatLogFields(std::span(fields).subspan(5, 2), "request"), " less=-1");
}

TEST(LogLine, PrintsUtcWithMilliseconds) {
  EXPECT_EQ(FormatLogTime(std::chrono::system_clock::time_point(1'700'000'000'042ms)), "2023-11-14T22:13:20.042Z");
}

}  // namespace
}  // namespace hearth
