#include "gpu_worker/experts/thread_copy_engine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(CopyEngine, CopiesBothBatchesInOrder) {
  ThreadCopyEngine engine;
  std::vector<std::byte> from(8 * 1000), to(8 * 1000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7);
  for (int round = 0; round < 20; ++round) {
    std::fill(to.begin(), to.end(), std::byte{0});
    for (int batch = 0; batch < 2; ++batch) {
      std::vector<CopyEngine::Copy> copies;
      for (size_t c = 0; c < 4; ++c) {
        const size_t at = (static_cast<size_t>(batch) * 4 + c) * 1000;
        copies.push_back({from.data() + at, to.data() + at, 1000});
      }
      engine.Start(batch, std::move(copies));
    }
    for (int batch = 0; batch < 2; ++batch) ASSERT_TRUE(engine.WaitFor(batch, 3, Deadline::After(10s)));
    EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size()), 0);
    engine.Stop(0);
    engine.Stop(1);
  }
}

TEST(CopyEngine, AStoppedBatchWritesNothingMore) {
  ThreadCopyEngine engine;
  std::vector<std::byte> from(64 << 20, std::byte{1}), to(64 << 20);
  std::vector<CopyEngine::Copy> copies;
  for (size_t c = 0; c < 64; ++c) copies.push_back({from.data() + (c << 20), to.data() + (c << 20), size_t{1} << 20});
  engine.Start(0, std::move(copies));
  engine.Stop(0);
  const std::vector<std::byte> before = to;
  EXPECT_FALSE(engine.WaitFor(0, 63, Deadline::After(20ms)) && before.back() == std::byte{0});
  EXPECT_EQ(before, to);
}

}  // namespace
}  // namespace hearth
