#include "kernels/kda/kda_runs.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hearth::kernels {
namespace {

// Every row exactly once and in order within its segment; blocks end at multiples of 64 of the sequence or with it.
void ExpectAllTaken(const std::vector<KdaSegment>& segments, int slots) {
  std::vector<Dim> taken(segments.size(), 0);
  KdaCursor at;
  for (;;) {
    const KdaRuns runs = TakeKdaRuns(segments.data(), static_cast<Dim>(segments.size()), slots, &at);
    if (runs.count == 0) break;
    ASSERT_LE(runs.slots, slots);
    std::set<size_t> seen;
    int slot = 0;
    for (int i = 0; i < runs.count; ++i) {
      const KdaRun& run = runs.at[i];
      size_t s = 0;
      while (run.row < segments[s].row_begin || run.row >= segments[s].row_begin + segments[s].row_count) ++s;
      EXPECT_TRUE(seen.insert(s).second) << "segment " << s << " twice in a portion";
      EXPECT_EQ(run.state, segments[s].state);
      EXPECT_EQ(run.row, segments[s].row_begin + taken[s]);
      EXPECT_EQ(run.slot, slot);
      slot += run.blocks;
      int rows = 0;
      for (int b = 0; b < run.blocks; ++b) {
        EXPECT_EQ(run.BlockBegin(b), rows);
        EXPECT_GT(run.BlockRows(b), 0);
        EXPECT_LE(run.BlockRows(b), kKdaBlock);
        rows += run.BlockRows(b);
        const Dim end = taken[s] + rows;
        EXPECT_TRUE(end == segments[s].row_count || (segments[s].position + end) % kKdaBlock == 0);
      }
      EXPECT_EQ(rows, run.rows);
      taken[s] += rows;
    }
    EXPECT_EQ(slot, runs.slots);
  }
  for (size_t s = 0; s < segments.size(); ++s) EXPECT_EQ(taken[s], segments[s].row_count) << s;
}

TEST(KdaRuns, TakeEveryRowInBlocksAtMultiplesOf64) {
  float states[200];
  std::vector<KdaSegment> segments;
  Dim row = 0;
  for (Dim i = 0; i < 200; ++i) {
    const Dim rows = i % 7 == 0 ? 0 : i == 5 ? 5000 : i % 3 == 0 ? 64 : 1 + 37 * i % 150;
    segments.push_back({row, rows, i % 4 == 0 ? 64 * i : 29 * i, nullptr, states + i});
    row += rows;
  }
  for (int slots : {1, 2, 8, 64}) ExpectAllTaken(segments, slots);
  ExpectAllTaken({}, 8);
}

}  // namespace
}  // namespace hearth::kernels
