#include "gpu_worker/experts/executor_start.h"

#include <gtest/gtest.h>

#include "kernels/backend.h"
#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

// What the help of --ct-a, --ct-b and --ct-tzc says of auto.
TEST(StartConstants, OnlyTheGpuLaneIsMeasured) {
  const testing::TinyHome tiny({});
  const CostConstants cost = StartConstants(tiny.view(), kernels::RefBackend(), {});
  EXPECT_EQ(cost.a, 0.05e-3);
  EXPECT_GT(cost.t_zc, 0);
  EXPECT_EQ(cost.b, cost.t_zc / 2);
}

TEST(StartConstants, OptionsAreMilliseconds) {
  const testing::TinyHome tiny({});
  ExecutorOptions options;
  options.ct_a = 1;
  options.ct_b = 2;
  options.ct_tzc = 3;
  const CostConstants cost = StartConstants(tiny.view(), kernels::RefBackend(), options);
  EXPECT_EQ(cost.a, 1e-3);
  EXPECT_EQ(cost.b, 2e-3);
  EXPECT_EQ(cost.t_zc, 3e-3);
}

}  // namespace
}  // namespace hearth
