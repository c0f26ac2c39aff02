#include "common/config/load_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/config/sample_config.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

using Environment = std::map<std::string, std::string>;

SampleConfig Parse(std::vector<std::string> args, Environment environment = {}) {
  return ParseConfig<SampleConfig>({.program = "x", .args = std::move(args), .environment = std::move(environment)});
}

std::string ErrorOf(std::vector<std::string> args, Environment environment = {}) {
  try {
    Parse(std::move(args), std::move(environment));
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(LoadConfig, KeepsDefaults) {
  const SampleConfig config = Parse({});
  EXPECT_EQ(config.context, 4096u);
  EXPECT_EQ(config.mode, "exact");
  EXPECT_EQ(config.cost_a, std::nullopt);
}

TEST(LoadConfig, FlagBeatsEnvironmentBeatsDefault) {
  const Environment environment = {{"HEARTH_CONTEXT_LENGTH", "100"}, {"GLM53_MODE", "fast"}};
  EXPECT_EQ(Parse({}, environment).context, 100u);
  EXPECT_EQ(Parse({}, environment).mode, "fast");
  EXPECT_EQ(Parse({"--context-length", "7"}, environment).context, 7u);
}

TEST(LoadConfig, OwnVariableBeatsTheOriginsAndEmptyOnesCountAsUnset) {
  EXPECT_EQ(Parse({}, {{"HEARTH_MODE", "exact"}, {"GLM53_MODE", "fast"}}).mode, "exact");
  EXPECT_EQ(Parse({}, {{"HEARTH_MODE", ""}, {"GLM53_MODE", "fast"}}).mode, "fast");
  EXPECT_EQ(Parse({}, {{"HEARTH_CONTEXT_LENGTH", ""}}).context, 4096u);
}

TEST(LoadConfig, AnEmptySecretIsRefused) {
  EXPECT_THAT(ErrorOf({"--api-key="}), HasSubstr("--api-key"));
  EXPECT_EQ(Parse({}, {{"HEARTH_API_KEY", ""}}).api_key, "");  // unset
}

TEST(LoadConfig, LastFlagWinsWhateverItsSpelling) {
  EXPECT_EQ(Parse({"-cs", "1", "--context-length=2", "-cs=3"}).context, 3u);
  EXPECT_EQ(Parse({"-m", "a", "--model", "b"}).model, "b");
}

TEST(LoadConfig, BoolFlagsStandAloneOrTakeABoolWord) {
  EXPECT_TRUE(Parse({"--warm"}).warm);
  EXPECT_TRUE(Parse({"--warm", "-cs", "5"}).warm);
  EXPECT_FALSE(Parse({"--warm", "false", "-cs", "5"}).warm);
  EXPECT_FALSE(Parse({"--warm=off"}).warm);
  EXPECT_THAT(ErrorOf({"--warm=maybe"}), HasSubstr("--warm = \"maybe\" (flag): expected true or false"));
}

TEST(LoadConfig, ReadsEveryKindOfValue) {
  const SampleConfig config = Parse({"--reserve-gb", "0.25", "--cost-a", "0.104", "--request-timeout", "2m",
                                     "--served-name", "a,b", "--api-key", "-x"});
  EXPECT_EQ(config.reserve_gb, 0.25);
  EXPECT_EQ(config.cost_a, 0.104);
  EXPECT_EQ(config.request_timeout, 2min);
  EXPECT_THAT(config.names, ElementsAre("a", "b"));
  EXPECT_EQ(config.api_key, "-x");
}

TEST(LoadConfig, ReportsEveryProblemAtOnceWithItsSource) {
  const std::string error = ErrorOf({"--request-timeout", "fast", "-cs=0"}, {{"GLM53_MODE", "slow"}});
  EXPECT_THAT(error, StartsWith("3 problems in the configuration\n"));
  EXPECT_THAT(error, HasSubstr("--request-timeout = \"fast\" (flag): expected a duration such as 500ms, 10s, 2m"));
  EXPECT_THAT(error, HasSubstr("--mode = \"slow\" (GLM53_MODE): expected fast or exact"));
  EXPECT_THAT(error, HasSubstr("--context-length = \"0\" (flag): expected 1 or more"));
}

TEST(LoadConfig, RefusesUnknownFlagsWithTheNearestName) {
  EXPECT_THAT(ErrorOf({"--contxt-length", "5"}),
              "--contxt-length (flag): no such flag; did you mean --context-length?");
  EXPECT_THAT(ErrorOf({"--zzzzzzzzzzz"}), HasSubstr("no such flag; --help lists them"));
  EXPECT_THAT(ErrorOf({"stray"}), HasSubstr("\"stray\" (argument 1): expected a flag"));
}

TEST(LoadConfig, RefusesAFlagWithoutItsValue) {
  EXPECT_THAT(ErrorOf({"--model"}), HasSubstr("--model (flag): needs a value"));
  EXPECT_THAT(ErrorOf({"--model", "--mode", "fast"}), HasSubstr("--model (flag): needs a value"));
  EXPECT_THAT(ErrorOf({"--model", "--mode=fast"}), HasSubstr("--model (flag): needs a value"));
}

TEST(LoadConfig, DescribesEffectiveValuesAndHidesSecrets) {
  const auto values = DescribeConfig(Parse({"-cs", "9", "--api-key", "hush"}));
  EXPECT_EQ(values.size(), 9u);
  EXPECT_THAT(values, Contains(Pair("context-length", "9")));
  EXPECT_THAT(values, Contains(Pair("api-key", "***")));
  EXPECT_THAT(DescribeConfig(Parse({})), Contains(Pair("api-key", "")));
}

TEST(LoadConfig, LeavesVariablesOfOthersAlone) {
  EXPECT_EQ(ErrorOf({}, {{"HEARTH_OTHER", "1"}, {"HEARTH_PORT_30000_TCP", "tcp://10.0.0.1:30000"}, {"HOME", "/"}}), "");
}

TEST(LoadConfigDeathTest, PrintsHelpAndEndsWithZero) {
  const char* argv[] = {"/bin/hearth-x", "--help", "--nonsense"};
  EXPECT_EXIT(LoadConfig<SampleConfig>(3, argv), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hearth
