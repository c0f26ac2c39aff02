#include "gpu_worker/experts/cache_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "bench/experts/routing_trace.h"
#include "gpu_worker/experts/cache_tables.h"
#include "gpu_worker/experts/slot_arena.h"

namespace hearth {
namespace {

using cache::Admission;

void ExpectConsistent(const cache::View& v) {
  int32_t used = 0, lent = 0;
  for (int32_t slot = 0; slot < v.slots; ++slot) {
    const int32_t owner = v.owner[slot];
    if (owner >= 0) {
      ++used;
      ASSERT_EQ(v.slot_of[owner], slot);
    }
    if (owner == cache::kLent) {
      ++lent;
      ASSERT_FALSE(v.pinned[slot]);
    }
  }
  int32_t resident = 0;
  for (int32_t key = 0; key < v.keys; ++key) {
    if (v.slot_of[key] == cache::kNone) continue;
    ++resident;
    ASSERT_EQ(v.owner[v.slot_of[key]], key);
  }
  ASSERT_EQ(used, resident);
  ASSERT_EQ(used, v.state->used);
  ASSERT_EQ(lent, v.state->lent);
  const cache::Counters& c = v.state->counters;
  ASSERT_EQ(c.admissions - c.evictions, static_cast<uint64_t>(used));
}

struct Case {
  int32_t layers, experts, slots, picks;
  Admission admission;
};

class CachePolicy : public ::testing::TestWithParam<Case> {};

TEST_P(CachePolicy, HoldsItsInvariantsOnRandomSequences) {
  const Case c = GetParam();
  CacheTables tables(c.layers, c.experts, c.slots);
  const cache::View v = tables.view();
  std::mt19937 random(7);
  std::vector<int32_t> lent;
  uint64_t touched = 0;
  for (int step = 0; step < 3000; ++step) {
    const int layer = step % c.layers;
    cache::AdvanceTime(v, 1.0 / c.layers);
    std::set<int32_t> experts;
    while (static_cast<int32_t>(experts.size()) < c.picks) {
      experts.insert(static_cast<int32_t>(
          std::min(random() % static_cast<uint32_t>(c.experts), random() % static_cast<uint32_t>(c.experts))));
    }
    std::vector<int32_t> pinned, missed;
    for (int32_t expert : experts) {
      const int32_t key = tables.Key(layer, expert);
      const int32_t slot = cache::Touch(v, key, 1 + static_cast<int32_t>(random() % 3));
      ++touched;
      if (slot >= 0) {
        ASSERT_EQ(v.owner[slot], key) << "a hit must be the expert's own slot";
        pinned.push_back(slot);
      } else {
        missed.push_back(key);
      }
    }
    if (random() % 50 == 0) LendChunks(v, static_cast<int32_t>(random() % 8), 3, lent);
    for (int32_t key : missed) {
      std::vector<int32_t> owners_of_pinned;
      for (int32_t slot : pinned) owners_of_pinned.push_back(v.owner[slot]);
      const int32_t slot = cache::Admit(v, key, c.admission);
      for (size_t i = 0; i < pinned.size(); ++i) ASSERT_EQ(v.owner[pinned[i]], owners_of_pinned[i]) << "evicted a pin";
      if (slot == cache::kNone) {
        ASSERT_EQ(v.slot_of[key], cache::kNone);
        continue;
      }
      ASSERT_EQ(v.slot_of[key], slot);
      pinned.push_back(slot);
    }
    for (int32_t slot : lent) ASSERT_EQ(v.owner[slot], cache::kLent);
    if (random() % 70 == 0) TakeBackAll(v, lent);
    for (int32_t slot : pinned) cache::Unpin(v, slot);
    ExpectConsistent(v);
  }
  EXPECT_EQ(v.state->counters.hits + v.state->counters.misses, touched);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CachePolicy,
                         ::testing::Values(Case{3, 16, 8, 4, Admission::kAlways},
                                           Case{3, 16, 8, 4, Admission::kByFrequency},
                                           Case{3, 16, 20, 8, Admission::kByFrequency},
                                           Case{2, 16, 32, 4, Admission::kByFrequency},
                                           Case{3, 16, 2, 8, Admission::kAlways}, Case{3, 16, 0, 4, Admission::kAlways},
                                           Case{3, 16, 8, 4, Admission::kNever}));

TEST(CachePolicyRules, FreeSlotsAreTakenBeforeAnybodyIsEvicted) {
  CacheTables tables(1, 8, 4);
  const cache::View v = tables.view();
  for (int32_t key = 0; key < 4; ++key) {
    cache::Touch(v, key, 1);
    ASSERT_NE(cache::Admit(v, key, Admission::kByFrequency), cache::kNone);
  }
  EXPECT_EQ(v.state->counters.evictions, 0u);
  EXPECT_EQ(cache::FreeSlots(v), 0);
}

TEST(CachePolicyRules, ANewcomerMustLeadItsVictimByTheCopy) {
  CacheTables tables(1, 4, 1);
  const cache::View v = tables.view();
  for (int i = 0; i < 3; ++i) cache::Touch(v, 0, 1);
  const int32_t slot = cache::Admit(v, 0, Admission::kByFrequency);
  ASSERT_EQ(slot, 0);
  cache::Unpin(v, slot);
  cache::Touch(v, 1, 1);
  EXPECT_EQ(cache::Admit(v, 1, Admission::kByFrequency), cache::kNone);
  cache::Touch(v, 1, 4);  // 5 picks, one of them the present one, against 3: the lead is the copy's price
  EXPECT_EQ(cache::Admit(v, 1, Admission::kByFrequency), cache::kNone);
  cache::Touch(v, 1, 2);
  EXPECT_EQ(cache::Admit(v, 1, Admission::kByFrequency), 0);
  EXPECT_EQ(v.slot_of[0], cache::kNone);
}

TEST(CachePolicyRules, OldPicksFade) {
  CacheTables tables(1, 4, 1);
  const cache::View v = tables.view();
  cache::Touch(v, 0, 8);
  cache::Unpin(v, cache::Admit(v, 0, Admission::kByFrequency));
  cache::AdvanceTime(v, 10 * v.state->clock.half_life);
  cache::Touch(v, 1, 3);
  EXPECT_EQ(cache::Admit(v, 1, Admission::kByFrequency), 0);
}

TEST(CachePolicyRules, AnExpertSeenOnceEvictsNobody) {
  CacheTables tables(1, 4, 1);
  const cache::View v = tables.view();
  cache::Touch(v, 0, 8);
  cache::Unpin(v, cache::Admit(v, 0, Admission::kByFrequency));
  cache::AdvanceTime(v, 100 * v.state->clock.half_life);
  cache::Touch(v, 1, 1);
  EXPECT_EQ(cache::Admit(v, 1, Admission::kByFrequency), cache::kNone);
  EXPECT_EQ(v.state->hand, 0) << "refused without a look at any victim";
}

TEST(CachePolicyRules, APrefillChunkCountsAsAFewTokens) {
  CacheTables tables(2, 4, 2);
  const cache::View v = tables.view();
  const double half_life = v.state->clock.half_life, most = std::min(16.0, half_life / 8);
  for (int layer = 0; layer < 2; ++layer) {
    const double weight = cache::AdvancePrefill(v, 8192, 2);
    EXPECT_DOUBLE_EQ(weight, most / 8192);
    cache::NotePrefill(v, tables.Key(layer, 0), 8192, weight);  // picked by every row
  }
  EXPECT_NEAR(v.state->clock.now * half_life, most, 1e-9);
  EXPECT_NEAR(std::exp2(v.score[tables.Key(1, 0)] - v.state->clock.now), most, 1e-9);
  EXPECT_EQ(v.state->tuner.now, 0) << "the tuner judges decode alone";
  EXPECT_EQ(cache::AdvancePrefill(v, 3, 2), 1) << "the rows of a short prompt count in full";
}

TEST(CachePolicyRules, ClockSparesWhatWasReferenced) {
  CacheTables tables(1, 8, 3);
  const cache::View v = tables.view();
  for (int32_t key = 0; key < 3; ++key) {
    cache::Touch(v, key, 1);
    cache::Unpin(v, cache::Admit(v, key, Admission::kAlways));
  }
  // The first round clears every bit and takes slot 0; key 1 is then used again, so key 2 goes next.
  cache::Touch(v, 3, 1);
  cache::Unpin(v, cache::Admit(v, 3, Admission::kAlways));
  EXPECT_EQ(v.slot_of[0], cache::kNone);
  cache::Unpin(v, cache::Touch(v, 1, 1));
  cache::Touch(v, 4, 1);
  cache::Unpin(v, cache::Admit(v, 4, Admission::kAlways));
  EXPECT_NE(v.slot_of[1], cache::kNone);
  EXPECT_EQ(v.slot_of[2], cache::kNone);
}

// Hit rate and admissions per token of a rule on a small trace of the real one's statistics.
struct TraceFigures {
  double hit_rate, admissions;
};
TraceFigures Replay(Admission admission) {
  RoutingTrace::Shape shape;
  shape.layers = 6;
  shape.experts = 96;
  const int slots = shape.layers * shape.experts / 9;  // as many per expert as at the real shape
  RoutingTrace trace(shape);
  CacheTables tables(shape.layers, shape.experts, slots);
  const cache::View v = tables.view();
  constexpr int kTokens = 2500, kWarm = 500;
  cache::Counters before;
  for (int token = 0; token < kTokens; ++token) {
    if (token == kWarm) before = v.state->counters;
    const std::vector<int32_t>& picks = trace.NextToken();
    for (int layer = 0; layer < shape.layers; ++layer) {
      cache::AdvanceTime(v, 1.0 / shape.layers);
      std::vector<int32_t> pinned;
      const auto pick = [&](int k) { return tables.Key(layer, picks[static_cast<size_t>(layer * shape.picks + k)]); };
      for (int k = 0; k < shape.picks; ++k) pinned.push_back(cache::Touch(v, pick(k), 1));
      for (int k = 0; k < shape.picks; ++k) {
        if (v.slot_of[pick(k)] == cache::kNone) pinned.push_back(cache::Admit(v, pick(k), admission));
      }
      for (int32_t slot : pinned) {
        if (slot >= 0) cache::Unpin(v, slot);
      }
    }
  }
  const double hits = static_cast<double>(v.state->counters.hits - before.hits);
  const double misses = static_cast<double>(v.state->counters.misses - before.misses);
  return {hits / (hits + misses),
          static_cast<double>(v.state->counters.admissions - before.admissions) / (kTokens - kWarm)};
}

TEST(CachePolicyRules, AdmissionByFrequencyHitsMoreWithFarFewerCopies) {
  const TraceFigures all = Replay(Admission::kAlways), chosen = Replay(Admission::kByFrequency);
  EXPECT_GT(chosen.hit_rate, all.hit_rate + 0.10);
  EXPECT_LT(chosen.admissions, all.admissions / 5);
}

TEST(HalfLifeTuner, FollowsTheTraffic) {
  // Half the time a phase keeps one favourite for `phase` tokens; the tuner must prefer short memories when phases are
  // short and long ones when nothing ever changes.
  const auto settle = [](int phase) {
    CacheTables tables(1, 64, 8);
    const cache::View v = tables.view();
    std::mt19937 random(3);
    for (int token = 0; token < 20000; ++token) {
      cache::AdvanceTime(v, 1);
      const auto favourite = static_cast<int32_t>(8 * ((token / phase) % 8));
      const auto other = static_cast<int32_t>(random() % 64);
      const int32_t slot = cache::Note(v, random() % 2 == 0 ? favourite : other, 1);
      if (slot >= 0) cache::Unpin(v, slot);
    }
    return v.state->clock.half_life;
  };
  const double quick = settle(40), steady = settle(1 << 20);
  EXPECT_LT(quick, 64);
  EXPECT_GT(steady, 256);
}

}  // namespace
}  // namespace hearth
