#include "common/config/option_value.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using namespace std::chrono_literals;

template <typename T>
std::optional<T> Read(std::string_view text) {
  T value{};
  return ReadOption(text, value) ? std::optional<T>(value) : std::nullopt;
}

TEST(OptionValue, ReadsWholeNumbersWithinTheirType) {
  EXPECT_EQ(Read<int>("-7"), -7);
  EXPECT_EQ(Read<unsigned>("4294967295"), 4294967295u);
  EXPECT_EQ(Read<uint64_t>("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "x", "1x", " 1", "1.0", "+1", "4294967296", "-1"}) {
    EXPECT_EQ(Read<unsigned>(text), std::nullopt) << text;
  }
}

TEST(OptionValue, ReadsFiniteNumbersOnly) {
  EXPECT_EQ(Read<double>("0.104"), 0.104);
  EXPECT_EQ(Read<float>("2.5e3"), 2500.0f);
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "1 "}) EXPECT_EQ(Read<double>(text), std::nullopt) << text;
}

TEST(OptionValue, ReadsBoolWords) {
  for (const char* text : {"true", "on", "yes", "1"}) EXPECT_EQ(Read<bool>(text), true) << text;
  for (const char* text : {"false", "off", "no", "0"}) EXPECT_EQ(Read<bool>(text), false) << text;
  for (const char* text : {"", "TRUE", "2", "--x"}) EXPECT_EQ(Read<bool>(text), std::nullopt) << text;
}

TEST(OptionValue, ReadsDurationsThatFitTheTick) {
  EXPECT_EQ(Read<std::chrono::milliseconds>("500ms"), 500ms);
  EXPECT_EQ(Read<std::chrono::milliseconds>("1.5s"), 1500ms);
  EXPECT_EQ(Read<std::chrono::milliseconds>("2m"), 120s);
  EXPECT_EQ(Read<std::chrono::milliseconds>("1h"), 1h);
  EXPECT_EQ(Read<std::chrono::milliseconds>("0"), 0ms);
  EXPECT_EQ(Read<std::chrono::microseconds>("250us"), 250us);
  for (const char* text : {"", "5", "fast", "-1s", "1 s", "250us", "1d", "99999999999h"}) {
    EXPECT_EQ(Read<std::chrono::milliseconds>(text), std::nullopt) << text;
  }
}

TEST(OptionValue, ReadsListsAndOptionals) {
  EXPECT_EQ(Read<std::vector<std::string>>("a,b"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Read<std::vector<std::string>>(""), std::vector<std::string>());
  EXPECT_EQ(Read<std::vector<std::string>>("a,,b"), std::nullopt);
  EXPECT_EQ(Read<std::vector<std::string>>("a,"), std::nullopt);
  std::optional<double> value = 1.0;
  EXPECT_TRUE(ReadOption("auto", value));
  EXPECT_EQ(value, std::nullopt);
  EXPECT_TRUE(ReadOption("2.5", value));
  EXPECT_EQ(value, 2.5);
  EXPECT_FALSE(ReadOption("", value));
}

TEST(OptionValue, PrintsWhatReadsBack) {
  EXPECT_EQ(PrintOption(0.1), "0.1");
  EXPECT_EQ(PrintOption(0.1f), "0.1");
  EXPECT_EQ(PrintOption(1500ms), "1500ms");
  EXPECT_EQ(PrintOption(120000ms), "2m");
  EXPECT_EQ(PrintOption(0ms), "0");
  EXPECT_EQ(PrintOption(std::vector<std::string>{"a", "b"}), "a,b");
  EXPECT_EQ(PrintOption(std::optional<double>()), "auto");
  EXPECT_EQ(PrintOption(false), "false");
  for (auto time : {1ms, 999ms, 1000ms, 3600000ms}) EXPECT_EQ(Read<std::chrono::milliseconds>(PrintOption(time)), time);
}

}  // namespace
}  // namespace hearth
