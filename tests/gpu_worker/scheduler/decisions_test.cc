#include <gtest/gtest.h>

#include <map>

#include "gpu_worker/scheduler/admission.h"
#include "gpu_worker/scheduler/batch_plan.h"
#include "gpu_worker/scheduler/counter_random.h"
#include "gpu_worker/scheduler/pause_policy.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(Admission, AsksForGrowthRoomButNeverForMoreThanTheRequestCanUse) {
  EXPECT_EQ(TokensToReserve(100, 1000), 356);
  EXPECT_EQ(TokensToReserve(100, 120), 120);
}

TEST(Admission, CountsWholePages) {
  const PoolView pool{.free_slots = 1, .free_tokens = 64, .page_tokens = 64};
  EXPECT_TRUE(HasRoom(pool, 64));
  EXPECT_FALSE(HasRoom(pool, 65));
  EXPECT_FALSE(HasRoom({.free_slots = 0, .free_tokens = 640, .page_tokens = 64}, 1));
}

TEST(Admission, QueuePositionCountsThoseAhead) {
  EXPECT_EQ(QueuePosition(3, 4), 0u);
  EXPECT_EQ(QueuePosition(4, 4), 1u);
  EXPECT_EQ(QueuePosition(6, 4), 3u);
}

TEST(BatchPlan, PrefillYieldsAfterItsTime) {
  EXPECT_EQ(NextWork(true, true, 249ms, 250ms), Work::kPrefill);
  EXPECT_EQ(NextWork(true, true, 250ms, 250ms), Work::kDecode);
  EXPECT_EQ(NextWork(false, true, 900ms, 250ms), Work::kPrefill);
  EXPECT_EQ(NextWork(true, false, 0ms, 250ms), Work::kDecode);
  EXPECT_EQ(NextWork(false, false, 0ms, 250ms), Work::kNone);
}

TEST(BatchPlan, EveryoneGetsATurn) {
  for (size_t count = 1; count <= 20; ++count) {
    for (size_t rows = 1; rows <= 9; ++rows) {
      std::vector<uint64_t> ready;
      for (size_t i = 0; i < count; ++i) ready.push_back(3 + 2 * i);
      std::map<size_t, int> turns;
      uint64_t last = UniformAt(count, rows) < 0.5 ? 0 : 8;
      const size_t steps = (count + rows - 1) / rows;
      for (size_t step = 0; step < steps; ++step) {
        const auto plan = PlanBatch(ready, rows, last);
        ASSERT_EQ(plan.size(), std::min(count, rows));
        for (size_t index : plan) ++turns[index];
        last = ready[plan.back()];
      }
      EXPECT_EQ(turns.size(), count) << count << " streams, " << rows << " rows";
      for (const auto& [index, times] : turns) EXPECT_LE(times, 2);
    }
  }
}

TEST(BatchPlan, GoesOnBehindASequenceThatHasLeft) {
  const std::vector<uint64_t> ready = {2, 5, 9};
  EXPECT_EQ(PlanBatch(ready, 2, 4), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(PlanBatch(ready, 2, 9), (std::vector<size_t>{0, 1}));
}

TEST(BatchPlan, PrefillServesTheOneServedLongestAgo) { EXPECT_EQ(PlanPrefill(std::vector<uint64_t>{7, 3, 9}), 1u); }

TEST(BatchPlan, ChunksEndAtMultiplesOf64UntilTheLast) {
  for (int64_t chunk : {64, 128, 8192}) {
    for (int64_t total : {1, 63, 64, 65, 900, 8192, 20000}) {
      int64_t done = 0;
      while (done < total) {
        const int64_t length = ChunkLength(done, total, chunk);
        ASSERT_GT(length, 0);
        ASSERT_LE(length, chunk);
        done += length;
        ASSERT_TRUE(done == total || done % 64 == 0);
      }
      EXPECT_EQ(done, total);
    }
  }
}

TEST(PausePolicy, TakesTheYoungestUnlessItIsInsideAChunk) {
  EXPECT_EQ(PauseVictim(std::vector<PauseCandidate>{{4, false}, {9, false}, {6, true}}), 1u);
  EXPECT_EQ(PauseVictim(std::vector<PauseCandidate>{{4, false}, {9, true}}), std::nullopt);
  EXPECT_EQ(PauseVictim({}), std::nullopt);
}

}  // namespace
}  // namespace hearth
