#include "common/config/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/config/sample_config.h"

namespace hearth {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HelpTexts : public ::testing::Test {
 protected:
  SampleConfig defaults_;
  OptionTable table_ = OptionTable::Of(defaults_);
};

TEST_F(HelpTexts, HelpNamesSpellingsDefaultsAndVariables) {
  const std::string help = HelpText("hearth-x", table_);
  EXPECT_THAT(help, StartsWith("Usage: hearth-x "));
  EXPECT_THAT(help, HasSubstr("  --context-length, -cs N\n      longest sequence\n      default 4096; environment "
                              "HEARTH_CONTEXT_LENGTH\n"));
  EXPECT_THAT(help, HasSubstr("--mode fast|exact\n"));
  EXPECT_THAT(help, HasSubstr("--warm\n"));
  EXPECT_THAT(help, HasSubstr("default auto; environment HEARTH_COST_A\n"));
}

TEST_F(HelpTexts, FlagsAreOneLineEach) {
  EXPECT_EQ(FlagsText(table_),
            "--model 1\n-m 1\n--mode 1\n--context-length 1\n-cs 1\n--warm opt\n--reserve-gb 1\n--cost-a 1\n"
            "--request-timeout 1\n--served-name 1\n--api-key 1\n");
}

TEST_F(HelpTexts, MarkdownEscapesBars) {
  const std::string text = ConfigMarkdown(table_);
  EXPECT_THAT(text, HasSubstr("| `--mode` | fast or exact | `exact` | `HEARTH_MODE`, `GLM53_MODE` | which lanes |\n"));
  EXPECT_THAT(text, HasSubstr("cost per expert \\| measured"));
}

TEST_F(HelpTexts, AreGivenOnlyWhenAskedFor) {
  EXPECT_EQ(PrintRequest({.program = "x", .args = {"-cs", "5"}}, table_), std::nullopt);
  EXPECT_THAT(PrintRequest({.program = "x", .args = {"--version"}}, table_).value_or(""), StartsWith("x 0."));
  EXPECT_EQ(PrintRequest({.program = "x", .args = {"--print-flags"}}, table_), FlagsText(table_));
  EXPECT_EQ(PrintRequest({.program = "x", .args = {"--print-config-markdown"}}, table_), ConfigMarkdown(table_));
}

}  // namespace
}  // namespace hearth
