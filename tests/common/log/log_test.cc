#include "common/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace hearth {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(Log, WritesOneLinePerEvent) {
  SetLogProcess("gateway");
  CaptureStderr();
  Log(LogLevel::kInfo, "loaded", {{"seconds", 1.5}, {"path", "/a b"}});
  EXPECT_THAT(GetCapturedStderr(),
              MatchesRegex("....-..-..T..:..:......Z info gateway loaded seconds=1.5 path=\"/a b\"\n"));
}

TEST(Log, DropsEventsBelowTheLevel) {
  CaptureStderr();
  Log(LogLevel::kDebug, "hidden");
  SetLogLevel(LogLevel::kError);
  Log(LogLevel::kWarning, "hidden");
  SetLogLevel(LogLevel::kDebug);
  Log(LogLevel::kDebug, "shown");
  SetLogLevel(LogLevel::kInfo);
  const std::string text = GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr(" debug gateway shown\n"));
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
}

TEST(Log, CollapsesEqualErrorsOfManyRequests) {
  CaptureStderr();
  for (int i = 0; i < 5; ++i) Log(LogLevel::kError, "worker_gone", {{"code", 14}, {"request", i}});
  for (int i = 0; i < 2; ++i) Log(LogLevel::kInfo, "state", {{"now", "up"}});
  FlushLog();
  const std::string text = GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_THAT(text, HasSubstr("worker_gone code=14 request=0\n"));
  EXPECT_THAT(text, HasSubstr("worker_gone code=14 repeated=4\n"));
}

TEST(Log, KeepsLinesOfThreadsApart) {
  CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) Log(LogLevel::kInfo, "tick", {{"text", "abcdefghij"}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = GetCapturedStderr();
  size_t good = 0, begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    good += text.substr(begin, end - begin).ends_with("Z info gateway tick text=abcdefghij");
  }
  EXPECT_EQ(good, 400u);
}

TEST(Log, ReadsLevelNames) {
  EXPECT_EQ(ParseLogLevel("warning"), LogLevel::kWarning);
  EXPECT_EQ(ParseLogLevel("loud"), std::nullopt);
}

}  // namespace
}  // namespace hearth
