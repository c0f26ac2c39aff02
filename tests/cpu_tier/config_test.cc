#include "cpu_tier/config.h"

#include <gtest/gtest.h>

#include "common/base/startup_error.h"
#include "common/config/load_config.h"

namespace hearth {
namespace {

CpuTierConfig Parse(std::vector<std::string> args) {
  return ParseConfig<CpuTierConfig>({.program = "t", .args = std::move(args), .environment = {}});
}

// "" when the arguments are accepted.
std::string Refusal(std::vector<std::string> args) {
  try {
    Parse(std::move(args));
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(CpuTierConfig, RefusesACpuNamedTwiceAndPointsToThreads) {
  for (const char* list : {"0,0,1", "2-9,9", "4-6,5-7"}) {
    const std::string refusal = Refusal({"--ct-cpus", list});
    EXPECT_NE(refusal.find(list), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("--ct-threads"), std::string::npos) << refusal;
  }
  EXPECT_EQ(Refusal({"--ct-cpus", "2-9,12"}), "");
  EXPECT_EQ(Refusal({"--ct-cpus", "auto"}), "");
}

TEST(CpuTierConfig, TakesOneToAThousandAndTwentyFourThreadsAndSaysSo) {
  EXPECT_EQ(Parse({"--ct-threads", "1"}).threads, std::optional<int64_t>(1));
  EXPECT_EQ(Parse({"--ct-threads", "1024"}).threads, std::optional<int64_t>(1024));
  for (const char* number : {"0", "1025", "-1"}) {
    EXPECT_NE(Refusal({"--ct-threads", number}).find("1 to 1024"), std::string::npos) << number;
  }
  CpuTierConfig config;
  const Option threads = *OptionTable::Of(config).FindFlag("--ct-threads");
  EXPECT_EQ(threads.expected, "a whole number, or auto") << "not the range of a type";
  EXPECT_NE(threads.spec.help.find("1 to 1024"), std::string::npos) << threads.spec.help;
}

}  // namespace
}  // namespace hearth
