#include "kernels/exl3/exl3_decode_cuda.cuh"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "common/base/float16.h"
#include "kernels/exl3/exl3_tile.h"

// What the GPU's decoder shares with the host: which word, which bit, which weight. The intrinsics are compared on a GPU.

namespace hearth::kernels::cuda {
namespace {

template <int K>
void CompareTiles(std::mt19937& rng) {
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<uint32_t> tile(8 * K, 0);
    for (uint32_t& word : tile) word = static_cast<uint32_t>(rng());
    if (trial == 0) std::fill(tile.begin(), tile.end(), 0xFFFFFFFFu);
    uint16_t expected[256];
    Exl3StripTileStates(tile.data(), K, expected);
    int seen[256] = {};
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t state[8];
      Exl3Lane<K>(lane).States(tile.data(), state);
      for (int j = 0; j < 8; ++j) {
        const int place = Exl3LaneRow(lane, j) * 16 + Exl3LaneColumn(lane, j);
        ++seen[place];
        ASSERT_EQ(state[j], expected[place]) << "K " << K << " lane " << lane << " state " << j;
      }
    }
    for (int count : seen) ASSERT_EQ(count, 1);
  }
}

TEST(Exl3DecodeCuda, LanesFindTheirStates) {
  std::mt19937 rng(1);
  CompareTiles<1>(rng);
  CompareTiles<2>(rng);
  CompareTiles<3>(rng);
  CompareTiles<4>(rng);
  CompareTiles<5>(rng);
  CompareTiles<6>(rng);
  CompareTiles<7>(rng);
  CompareTiles<8>(rng);
}

TEST(Exl3DecodeCuda, WeightsAreThoseOfTheCodebook) {
  for (const Codebook codebook : {Codebook::k3inst, Codebook::kMcg, Codebook::kMul1}) {
    const Exl3Hash hash = Exl3HashOf(codebook);
    for (uint32_t s = 0; s < 65536; ++s) {
      const uint32_t other = 65535 - s;
      const uint32_t pair = codebook == Codebook::kMul1 ? Exl3WeightPair<true>(hash, s, other)
                                                        : Exl3WeightPair<false>(hash, s, other);
      ASSERT_EQ(pair & 0xFFFF, Exl3CodebookF16(codebook, static_cast<uint16_t>(s)));
      ASSERT_EQ(pair >> 16, Exl3CodebookF16(codebook, static_cast<uint16_t>(other)));
    }
  }
}

TEST(Exl3DecodeCuda, OperandsFollowTheTensorCoreOrder) {
  std::mt19937 rng(2);
  std::vector<uint32_t> tile(24);
  for (uint32_t& word : tile) word = static_cast<uint32_t>(rng());
  uint16_t states[256];
  Exl3StripTileStates(tile.data(), 3, states);
  const Exl3Hash hash = Exl3HashOf(Codebook::kMul1);
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t b[4];
    Exl3TileOperands<3, true>(Exl3Lane<3>(lane), hash, tile.data(), b);
    for (int half = 0; half < 2; ++half) {      // columns 0..7, 8..15
      for (int reg = 0; reg < 2; ++reg) {       // rows k, k+8
        for (int low = 0; low < 2; ++low) {     // two rows of a register
          const int k = (lane % 4) * 2 + low + reg * 8, n = lane / 4 + half * 8;
          const uint32_t bits = b[half * 2 + reg] >> (16 * low) & 0xFFFF;
          ASSERT_EQ(bits, Exl3CodebookF16(Codebook::kMul1, states[k * 16 + n]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth::kernels::cuda
