#include "common/metrics/process_memory.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(ProcessMemory, ReadsTheStatusFile) {
  const ProcessMemory memory = ParseProcessMemory(
      "Name:\thearth\nVmRSS:\t   900 kB\nRssAnon:\t     100 kB\nRssFile:\t     200 kB\nRssShmem:\t     600 kB\n");
  EXPECT_EQ(memory.anonymous, 100u * 1024);
  EXPECT_EQ(memory.file, 200u * 1024);
  EXPECT_EQ(memory.shared, 600u * 1024);
  EXPECT_EQ(ParseProcessMemory("").anonymous, 0u);
}

TEST(ProcessMemory, IsExposed) {
  Metrics metrics;
  AddProcessMemory(metrics);
  const std::string text = metrics.Expose();
  const size_t at = text.find("hearth_memory_bytes{kind=\"private\"} ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_GT(std::stod(text.substr(text.find(' ', at))), 4096.0);
}

}  // namespace
}  // namespace hearth
