#include "tools/doctor/gpu_architectures.h"

#include <gtest/gtest.h>

namespace hearth::doctor {
namespace {

constexpr const char* kUsual = "86-real,89-real,90-real,120";  // cmake/options.cmake

TEST(GpuArchitectures, MachineCodeRunsOnItsGenerationAndPtxOnLaterOnes) {
  for (double compute : {8.6, 8.7, 8.9, 9.0, 12.0, 12.1, 13.0}) EXPECT_TRUE(RunsOn(kUsual, compute)) << compute;
  for (double compute : {6.1, 7.5, 8.0, 10.0, 10.3, 11.0}) EXPECT_FALSE(RunsOn(kUsual, compute)) << compute;
  EXPECT_TRUE(RunsOn("80-virtual", 10.0));
  EXPECT_FALSE(RunsOn("", 9.0));
  EXPECT_TRUE(RunsOn("native", 9.0));
}

TEST(GpuArchitectures, AreToldAsComputeCapabilities) {
  EXPECT_EQ(DescribeArchitectures(kUsual), "8.6, 8.9, 9.0, 12.0 and later");
  EXPECT_EQ(DescribeArchitectures("86-real"), "8.6");
  EXPECT_EQ(DescribeArchitectures("native"), "native");
}

}  // namespace
}  // namespace hearth::doctor
