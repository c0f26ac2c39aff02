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

TEST(MemoryPlan, TheReserveIsNeverLessThanWhatIsTakenAfterStart) {
  MemoryNeeds needs = SomeNeeds();
  needs.working_bytes = 512 * kMiB;
  const auto roomy = PlanMemory(needs, {.vram_bytes = 24 * kGiB, .reserve_bytes = kGiB});
  EXPECT_EQ(roomy->reserve_bytes, kGiB);
  EXPECT_EQ(roomy->expert_slots, 1484) << "it comes out of the reserve";
  EXPECT_NE(roomy->Table().find("512 MiB for prefill"), std::string::npos) << roomy->Table();
  const auto raised = PlanMemory(needs, {.vram_bytes = 24 * kGiB, .reserve_bytes = 0});
  EXPECT_EQ(raised->reserve_bytes, 512 * kMiB);
  EXPECT_EQ(raised->expert_slots, 1536);  // 24 - 6 - 2 - 0.5 - 0.5 GiB in slots of 10 MiB
  EXPECT_FALSE(PlanMemory(needs, {.vram_bytes = 8 * kGiB + 600 * kMiB}).ok());
}

TEST(MemoryPlan, TheRealShapeHasTheOriginsSlotsOn24GiB) {
  MemoryNeeds needs{.context_bytes = 800'000'000,
                    .dense_bytes = 6'300'000'000,
                    .kv_bytes = 1'600'000'000,
                    .kv_tokens = 131072,
                    .state_bytes_per_slot = 150'000'000,
                    .sequence_slots = 4,
                    .record_bytes = 9'437'184,
                    .experts = 12096,
                    .least_slots = 8,
                    .ahead = 2};
  const MemoryLimits limits{
      .vram_bytes = 24 * kGiB, .card_bytes = 141 * kGiB, .reserve_bytes = kGiB + 512 * kMiB, .max_expert_slots = 1312};
  EXPECT_EQ(PlanMemory(needs, limits)->expert_slots, 1312);
  MemoryLimits free = limits;
  free.max_expert_slots = 0;
  const int64_t slots = PlanMemory(needs, free)->expert_slots;
  needs.working_bytes = 560 * kMiB;
  EXPECT_EQ(PlanMemory(needs, limits)->expert_slots, 1312);
  EXPECT_EQ(PlanMemory(needs, free)->expert_slots, slots) << "it is part of the reserve";
}

// 48 GiB, a neighbour with 20, 27 free, and a cap of 24: the neighbour's memory is not charged to the cap.
TEST(MemoryPlan, OtherProcessesAreNotChargedToTheCap) {
  MemoryNeeds needs = SomeNeeds();
  needs.context_bytes = kGiB;
  needs.dense_bytes = 12 * kGiB;
  const MemoryLimits limits{.vram_bytes = 24 * kGiB, .card_bytes = 48 * kGiB, .others_bytes = 20 * kGiB};
  const auto plan = PlanMemory(needs, limits);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->budget_bytes, 24 * kGiB);
  EXPECT_EQ(plan->expert_slots, 870);  // 24 - 1 - 12 - 2 - 0.5 GiB in slots of 10 MiB
  EXPECT_NE(plan->Table().find("other processes"), std::string::npos) << plan->Table();
  MemoryLimits less = limits;
  less.others_bytes = 30 * kGiB;
  EXPECT_EQ(PlanMemory(needs, less)->budget_bytes, 18 * kGiB);
}

TEST(MemoryPlan, NamesTheCapOnlyWhereItIsWhatLimits) {
  MemoryNeeds needs = SomeNeeds();
  needs.dense_bytes = 30 * kGiB;
  const auto refusal = [&](MemoryLimits limits) { return PlanMemory(needs, limits).status().message(); };
  const std::string capped = refusal({.vram_bytes = 24 * kGiB, .card_bytes = 48 * kGiB, .others_bytes = 20 * kGiB});
  EXPECT_NE(capped.find("raise --vram-gb"), std::string::npos) << capped;
  const std::string crowded = refusal({.vram_bytes = 48 * kGiB, .card_bytes = 48 * kGiB, .others_bytes = 20 * kGiB});
  EXPECT_EQ(crowded.find("--vram-gb"), std::string::npos) << crowded;
  EXPECT_NE(crowded.find("other processes hold 20 GiB of the card's 48 GiB"), std::string::npos) << crowded;
  const std::string small = refusal({.vram_bytes = 16 * kGiB, .card_bytes = 16 * kGiB});
  EXPECT_EQ(small.find("--vram-gb"), std::string::npos) << small;
  EXPECT_EQ(small.find("other processes"), std::string::npos) << small;
}

// A clock that only runs while somebody sleeps; others give their memory back at `free_after`.
class Neighbour {
 public:
  explicit Neighbour(std::chrono::milliseconds free_after) : free_after_(free_after) {}
  MemoryWait wait() {
    return {.sleep = [this](std::chrono::milliseconds time) { slept += time; },
            .others_bytes = [this] { return slept < free_after_ ? 20 * kGiB : 0; },
            .say = [this](const std::string& text) { said.push_back(text); }};
  }
  std::chrono::milliseconds slept{0};
  std::vector<std::string> said;

 private:
  std::chrono::milliseconds free_after_;
};

TEST(PlanMemoryPatiently, WaitsForADyingPredecessor) {
  using std::chrono::seconds;
  const MemoryLimits limits{.vram_bytes = 24 * kGiB, .card_bytes = 24 * kGiB, .others_bytes = 20 * kGiB};
  Neighbour dying(seconds(5));
  const auto plan = PlanMemoryPatiently(SomeNeeds(), limits, dying.wait());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->others_bytes, 0u);
  EXPECT_EQ(dying.slept, seconds(5));
  ASSERT_EQ(dying.said.size(), 1u);
  EXPECT_NE(dying.said[0].find("20 GiB"), std::string::npos) << dying.said[0];

  Neighbour staying(seconds(1000));
  EXPECT_FALSE(PlanMemoryPatiently(SomeNeeds(), limits, staying.wait()).ok());
  EXPECT_EQ(staying.slept, seconds(30));
}

TEST(PlanMemoryPatiently, DoesNotWaitWhereThatCannotHelp) {
  Neighbour dying(std::chrono::seconds(5));
  EXPECT_TRUE(PlanMemoryPatiently(SomeNeeds(), {.vram_bytes = 24 * kGiB}, dying.wait()).ok());
  EXPECT_FALSE(PlanMemoryPatiently(SomeNeeds(), {.vram_bytes = 8 * kGiB}, dying.wait()).ok());
  MemoryLimits small{.vram_bytes = 8 * kGiB, .card_bytes = 24 * kGiB, .others_bytes = 20 * kGiB};
  EXPECT_FALSE(PlanMemoryPatiently(SomeNeeds(), small, dying.wait()).ok()) << "the cap is too low anyway";
  EXPECT_EQ(dying.slept.count(), 0);
  EXPECT_TRUE(dying.said.empty());
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
