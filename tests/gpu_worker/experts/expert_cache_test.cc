#include "gpu_worker/experts/expert_cache.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_home.h"

namespace hearth {
namespace {

constexpr int32_t kSlots = 12;

// A cache on the host whose first `used` slots hold the experts of layer 0.
class ExpertCacheTest : public ::testing::Test {
 protected:
  void Use(int used) {
    std::vector<int32_t> slots;
    {
      const auto lock = cache_.Lock();
      for (int expert = 0; expert < used; ++expert) {
        slots.push_back(cache::Admit(cache_.view(), cache_.Key(0, expert), cache::Admission::kAlways));
        cache_.Fill(slots.back(), 0, expert, nullptr);
      }
    }
    cache_.Unpin(slots);
  }

  const testing::TinyHome tiny_{{}};
  const HomeView home_ = tiny_.view();
  ExpertCache cache_{home_, kSlots, kernels::RefBackend()};
};

TEST_F(ExpertCacheTest, VerifyStopsAfterItsShareOfBytesAndGoesOnFromThere) {
  Use(5);
  SlotCheck check;
  for (uint32_t part = 1; part <= 5; ++part) {
    ASSERT_TRUE(cache_.Verify(0, check, 1)) << "slots are left after part " << part;
    EXPECT_EQ(check.compared, part);
  }
  EXPECT_FALSE(cache_.Verify(0, check, 1)) << "free slots cost nothing";
  EXPECT_EQ(check.compared, 5u);
  EXPECT_EQ(check.different, 0u);
  SlotCheck two_at_once;
  EXPECT_TRUE(cache_.Verify(0, two_at_once, home_.record_stride() + 1));
  EXPECT_EQ(two_at_once.compared, 2u);
}

TEST_F(ExpertCacheTest, VerifyFindsADamagedSlotInWhicheverPart) {
  Use(kSlots);
  cache_.slot(7)[100] ^= std::byte{1};
  SlotCheck check;
  while (cache_.Verify(0, check, 1)) {
  }
  EXPECT_EQ(check.compared, static_cast<uint32_t>(kSlots));
  EXPECT_EQ(check.different, 1u);
}

TEST_F(ExpertCacheTest, VerifySpreadsItsSamples) {
  Use(kSlots);
  cache_.slot(8)[0] ^= std::byte{1};
  cache_.slot(9)[0] ^= std::byte{1};
  SlotCheck check;
  while (cache_.Verify(3, check, 1)) {
  }
  EXPECT_EQ(check.compared, 3u);
  EXPECT_EQ(check.different, 1u) << "slots 0, 4 and 8 are looked at";
}

TEST_F(ExpertCacheTest, VerifyPassesOverPinnedSlots) {
  Use(4);
  cache::Touch(cache_.view(), cache_.Key(0, 2), 1);
  SlotCheck check;
  while (cache_.Verify(0, check)) {
  }
  EXPECT_EQ(check.compared, 3u);
}

}  // namespace
}  // namespace hearth
