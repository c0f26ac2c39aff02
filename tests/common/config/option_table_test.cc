#include "common/config/option_table.h"

#include <gtest/gtest.h>

#include "tests/common/config/sample_config.h"

namespace hearth {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", "abc"), 0u);
  EXPECT_EQ(EditDistance("abc", "acb"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(OptionTable, FindsOptionsByEverySpelling) {
  SampleConfig config;
  const OptionTable table = OptionTable::Of(config);
  ASSERT_NE(table.FindFlag("-cs"), nullptr);
  EXPECT_EQ(table.FindFlag("-cs"), table.FindFlag("--context-length"));
  EXPECT_EQ(table.FindFlag("-cs"), table.FindEnvironment("HEARTH_CONTEXT_LENGTH"));
  EXPECT_EQ(table.FindEnvironment("GLM53_EC_RESERVE_GB"), table.FindFlag("--reserve-gb"));
  EXPECT_EQ(table.FindFlag("--context"), nullptr);
}

TEST(OptionTableDeathTest, TwoOptionsCannotShareASpelling) {
  OptionTable table;
  int a = 0, b = 0;
  table(OptionSpec{.flag = "--a", .aliases = {"-x"}}, a);
  EXPECT_DEATH(table(OptionSpec{.flag = "--b", .aliases = {"-x"}}, b), "two options are spelled -x");
  EXPECT_DEATH(table(OptionSpec{.flag = "--c", .env = {"HEARTH_A"}}, b), "two options read HEARTH_A");
}

}  // namespace
}  // namespace hearth
