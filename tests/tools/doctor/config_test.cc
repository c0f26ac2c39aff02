#include "tools/doctor/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/load_config.h"

namespace hearth::doctor {
namespace {

using ::testing::HasSubstr;

// What is wrong with the flags; "" when nothing is.
std::string Problem(const std::vector<std::string>& flags) {
  try {
    ParseConfig<DoctorConfig>({.program = "hearth-doctor", .args = flags});
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(DoctorConfig, RefusesTheValuesThatTheWorkerRefuses) {
  for (const char* value : {"-1", "65537"}) {
    EXPECT_THAT(Problem({"--assume-ram-gb", value}),
                HasSubstr(StrCat("--assume-ram-gb = \"", value, "\" (flag): expected GiB from 0 to 65536")));
  }
  for (const char* value : {"0", "0.001", "auto", "65536"}) EXPECT_EQ(Problem({"--assume-ram-gb", value}), "") << value;
}

TEST(DoctorConfig, RefusesADriverThatIsNoVersion) {
  EXPECT_THAT(Problem({"--least-driver", "abc"}), HasSubstr("expected a version such as 580.65"));
  EXPECT_EQ(Problem({"--least-driver", "570.26"}), "");
}

}  // namespace
}  // namespace hearth::doctor
