#include "gpu_worker/memory/memory_plan.h"

#include <gtest/gtest.h>

#include "common/base/byte_size.h"

namespace hearth {
namespace {

MemoryNeeds SomeNeeds() {
  return {.dense_bytes = 6 * kGiB,
          .kv_bytes = 2 * kGiB,
          .kv_tokens = 131072,
          .state_bytes_per_slot = 128 * kMiB,
          .sequence_slots = 4,
          .record_bytes = 10 * kMiB,
          .experts = 5000,
          .least_slots = 8};
}

TEST(MemoryPlan, GivesTheCacheEverythingElse) {
  const auto plan = PlanMemory(SomeNeeds(), {.vram_bytes = 24 * kGiB, .reserve_bytes = kGiB});
  ASSERT_TRUE(plan.ok());
  // 24 - 6 - 2 - 0.5 - 1 GiB in slots of 10 MiB.
  EXPECT_EQ(plan->expert_slots, 1484);
  EXPECT_LE(plan->total_bytes, plan->budget_bytes);
  EXPECT_LT(plan->budget_bytes - plan->total_bytes, 10 * kMiB);
  uint64_t sum = 0;
  for (const auto& row : plan->rows) sum += row.bytes;
  EXPECT_EQ(sum, plan->total_bytes);
  for (const char* word : {"dense weights", "131072 tokens", "4 sequences", "1484 slots", "24 GiB"}) {
    EXPECT_NE(plan->Table().find(word), std::string::npos) << word;
  }
}

TEST(MemoryPlan, BuffersOfTheLookAheadComeBeforeTheCache) {
  MemoryNeeds needs = SomeNeeds();
  needs.ahead = 4;
  const auto plan = PlanMemory(needs, {.vram_bytes = 24 * kGiB, .reserve_bytes = kGiB});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->expert_slots, 1480);
  EXPECT_NE(plan->Table().find("look-ahead"), std::string::npos);
}

TEST(MemoryPlan, NeverHasMoreSlotsThanExpertsOrThanAsked) {
  EXPECT_EQ(PlanMemory(SomeNeeds(), {.vram_bytes = 500 * kGiB})->expert_slots, 5000);
  EXPECT_EQ(PlanMemory(SomeNeeds(), {.vram_bytes = 24 * kGiB, .max_expert_slots = 1312})->expert_slots, 1312);
  EXPECT_EQ(PlanMemory(SomeNeeds(), {.vram_bytes = 24 * kGiB, .max_expert_slots = 3})->expert_slots, 3);
}

TEST(MemoryPlan, RefusesWithTheSumAndWhatHelps) {
  const auto plan = PlanMemory(SomeNeeds(), {.vram_bytes = 8 * kGiB});
  ASSERT_FALSE(plan.ok());
  for (const char* word : {"8.6 GiB", "6 GiB", "512 MiB", "8 GiB", "-cs", "-ambs", "--vram-gb"}) {
    EXPECT_NE(plan.status().message().find(word), std::string::npos) << word << " in " << plan.status().message();
  }
  // The parts fit, the least number of slots does not.
  EXPECT_FALSE(PlanMemory(SomeNeeds(), {.vram_bytes = 8 * kGiB + 512 * kMiB + 79 * kMiB}).ok());
  EXPECT_EQ(PlanMemory(SomeNeeds(), {.vram_bytes = 8 * kGiB + 512 * kMiB + 80 * kMiB})->expert_slots, 8);
}

TEST(ChunkThatFits, HalvesUntilHalfOfTheLentMemoryIsEnough) {
  const auto bytes = [](int64_t rows) { return static_cast<uint64_t>(rows) * 1000; };
  EXPECT_EQ(ChunkThatFits(8192, 17'000'000, bytes), 8192);
  EXPECT_EQ(ChunkThatFits(8192, 16'000'000, bytes), 4096);
  EXPECT_EQ(ChunkThatFits(320, 400'000, bytes), 128);  // stays a multiple of 64
  EXPECT_EQ(ChunkThatFits(8192, 0, bytes), 64);
}

}  // namespace
}  // namespace hearth
