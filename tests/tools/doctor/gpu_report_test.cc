#include "tools/doctor/gpu_report.h"

#include <gtest/gtest.h>

#include "common/base/byte_size.h"

namespace hearth::doctor {
namespace {

TEST(GpuReport, ReadsOneLineAGpu) {
  const auto gpus =
      ParseGpuReport("NVIDIA GeForce RTX 3090, 24576, 580.65.06, 8.6\nNVIDIA H200, 143771, 580.65.06, 9.0\n");
  ASSERT_TRUE(gpus.ok()) << gpus.status().message();
  ASSERT_EQ(gpus->size(), 2u);
  EXPECT_EQ((*gpus)[0].name, "NVIDIA GeForce RTX 3090");
  EXPECT_EQ((*gpus)[0].memory_bytes, 24 * kGiB);
  EXPECT_EQ((*gpus)[1].driver, "580.65.06");
  EXPECT_EQ((*gpus)[1].compute, 9.0);
}

TEST(GpuReport, AnOldDriverDoesNotKnowTheComputeCapability) {
  const auto gpus = ParseGpuReport("Tesla T4, 15360, 470.82.01, [N/A]\n");
  ASSERT_TRUE(gpus.ok());
  EXPECT_FALSE(gpus->front().compute.has_value());
}

TEST(GpuReport, OtherTextIsRefused) {
  EXPECT_FALSE(ParseGpuReport("").ok());
  EXPECT_FALSE(ParseGpuReport("No devices were found\n").ok());
  EXPECT_FALSE(ParseGpuReport("NVIDIA H200, many, 580.65.06, 9.0\n").ok());
}

TEST(GpuReport, FindsTheModulesVersion) {
  EXPECT_EQ(
      ParseDriverModule("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
                        "GCC version:  gcc version 12.2.0\n"),
      "550.54.15");
  EXPECT_EQ(ParseDriverModule("something else"), "");
}

TEST(GpuReport, KnowsVersions) {
  for (const char* good : {"580", "580.65", "580.65.06"}) EXPECT_TRUE(IsVersion(good)) << good;
  for (const char* bad : {"", ".", "580.", ".65", "580..65", "abc", "-1", "580.65b"})
    EXPECT_FALSE(IsVersion(bad)) << bad;
}

TEST(GpuReport, ComparesVersionsByNumber) {
  EXPECT_TRUE(VersionLess("535.183.01", "580.65"));
  EXPECT_TRUE(VersionLess("580.9", "580.65"));
  EXPECT_FALSE(VersionLess("580.65.06", "580.65"));
  EXPECT_FALSE(VersionLess("1000.1", "580.65.06"));
}

}  // namespace
}  // namespace hearth::doctor
