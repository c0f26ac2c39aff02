#include "kernels/linear/tile_layout.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "kernels/exl3/exl3.h"

namespace hearth::kernels::cuda {
namespace {

TEST(TileLayout, IsTheOrderOfTheBitStream) {
  for (int g = 0; g < 32; ++g) {
    for (int j = 0; j < kLaneWeights; ++j) {
      EXPECT_EQ(TileRow(g, j), Exl3Row(8 * g + j));
      EXPECT_EQ(TileColumn(g, j), Exl3Column(8 * g + j));
    }
  }
}

// mma.m16n8k16: lane l has of B column l / 4, rows 2 (l % 4) + {0, 1} in the first register and 8 further down in the
// second.
TEST(TileLayout, IsTheOperandOfTheInstruction) {
  for (int g = 0; g < 32; ++g) {
    for (int j = 0; j < kLaneWeights; ++j) {
      const int part = j / 4, reg = j % 4 / 2, half = j % 2;
      EXPECT_EQ(TileRow(g, j), 2 * (g % 4) + half + 8 * reg);
      EXPECT_EQ(TileColumn(g, j), g / 4 + 8 * part);
    }
  }
}

template <int kRowChunks>
void CheckActivations() {
  std::set<int> places;
  for (int row = 0; row < 128; ++row) {
    for (int chunk = 0; chunk < kRowChunks; ++chunk) places.insert(ActivationChunk<kRowChunks>(row, chunk));
  }
  EXPECT_EQ(places.size(), 128u * kRowChunks);
  EXPECT_EQ(*places.rbegin(), 128 * kRowChunks - 1);
  for (int first = 0; first < 128; first += 8) {
    for (int chunk = 0; chunk < kRowChunks; ++chunk) {
      std::set<int> banks;  // groups of four
      for (int row = first; row < first + 8; ++row) banks.insert(ActivationChunk<kRowChunks>(row, chunk) % 8);
      EXPECT_EQ(banks.size(), 8u) << "rows from " << first << ", chunk " << chunk;
    }
  }
}
TEST(TileLayout, ActivationsHaveNoBankConflicts) {
  CheckActivations<4>();
  CheckActivations<8>();
}

TEST(TileLayout, EveryTileIsVisitedOnce) {
  for (const int m_tiles : {1, 2, 15, 16, 17, 40}) {
    for (const int n_tiles : {1, 3, 16}) {
      std::set<std::pair<int, int>> seen;
      for (int tile = 0; tile < m_tiles * n_tiles; ++tile) {
        int m = -1, n = -1;
        TileOrder(tile, m_tiles, n_tiles, &m, &n);
        EXPECT_TRUE(m >= 0 && m < m_tiles && n >= 0 && n < n_tiles) << m << " " << n;
        seen.insert({m, n});
      }
      EXPECT_EQ(seen.size(), static_cast<size_t>(m_tiles * n_tiles));
    }
  }
}

}  // namespace
}  // namespace hearth::kernels::cuda
