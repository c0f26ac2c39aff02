#include "gpu_worker/mode_advice.h"

#include <gtest/gtest.h>

#include "common/base/byte_size.h"
#include "common/config/load_config.h"

namespace hearth {
namespace {

std::string Advice(std::vector<std::string> args, int cores, uint64_t vram_bytes = 24 * kGiB) {
  const auto config = ParseConfig<WorkerConfig>({.program = "w", .args = std::move(args), .environment = {}});
  ChosenKernels kernels;
  kernels.vram_bytes = vram_bytes;
  return ModeAdvice(config, kernels, cores);
}

TEST(ModeAdvice, FewCoresBesideAGpuSpeakForExact) {
  const std::string advice = Advice({}, 11);
  EXPECT_NE(advice.find("11 physical cores"), std::string::npos) << advice;
  EXPECT_NE(advice.find("--mode exact"), std::string::npos) << advice;
  EXPECT_EQ(Advice({}, 12), "");
}

TEST(ModeAdvice, NothingIsSaidWhereNoTierHelpsAGpu) {
  EXPECT_EQ(Advice({"--mode", "exact"}, 8), "");
  EXPECT_EQ(Advice({"--cpu-tier="}, 8), "");
  EXPECT_EQ(Advice({"--cpu-lane", "never"}, 8), "");
  EXPECT_EQ(Advice({}, 8, 0), "") << "on the host";
}

}  // namespace
}  // namespace hearth
