#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/float16.h"
#include "kernels/backend.h"
#include "kernels/exl3/exl3_tile.h"
#include "kernels/exl3/strip_sums_avx2.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

using testing::MatrixSpec;
using testing::TestMatrix;

std::vector<float> DecodeStrip(const MatrixView& w, Dim strip) {
  std::vector<float> memory(w.in_padded * kStripColumns + 16);
  float* panel = memory.data();
  while (reinterpret_cast<uintptr_t>(panel) % 64 != 0) ++panel;
  avx2::Exl3DecodePanel(w, strip, 0, w.in_padded / kTile, panel);
  std::vector<float> natural(w.in_padded * kStripColumns);
  for (Dim k = 0; k < w.in_padded; ++k) {
    const Dim row = k / kTile * kTile + kExl3RowOrder[k % kTile];
    for (Dim c = 0; c < kStripColumns; ++c) {
      natural[row * kStripColumns + c] = panel[(c / 16 * w.in_padded + k) * 16 + c % 16];
    }
  }
  return natural;
}

class Exl3Panel : public ::testing::TestWithParam<std::tuple<uint32_t, Codebook>> {};

TEST_P(Exl3Panel, EqualsTheBitExactDecoder) {
  if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  const auto [bits, codebook] = GetParam();
  std::mt19937 rng(bits);
  const TestMatrix matrix = TestMatrix::Random({.in = 256, .out = 256, .bits = bits, .codebook = codebook}, rng);
  std::vector<uint16_t> q(256 * 256);
  Exl3DecodeInner(matrix.view(), q.data());
  for (Dim strip = 0; strip < 2; ++strip) {
    const std::vector<float> panel = DecodeStrip(matrix.view(), strip);
    for (Dim k = 0; k < 256; ++k) {
      for (Dim c = 0; c < kStripColumns; ++c) {
        const float expected = F16ToFloat(q[k * 256 + strip * kStripColumns + c]);
        ASSERT_EQ(panel[k * kStripColumns + c], expected) << "row " << k << " column " << c << " strip " << strip;
      }
    }
  }
}

std::string Name(Codebook codebook) {
  return codebook == Codebook::kMul1 ? "mul1" : codebook == Codebook::kMcg ? "mcg" : "3inst";
}

INSTANTIATE_TEST_SUITE_P(All, Exl3Panel,
                         ::testing::Combine(::testing::Range(1u, 9u),
                                            ::testing::Values(Codebook::kMul1, Codebook::kMcg, Codebook::k3inst)),
                         [](const auto& param) {
                           std::string name = Name(std::get<1>(param.param));
                           return name += "_k" + std::to_string(std::get<0>(param.param));
                         });

// 4 million random weights of 8 bits show every state; the count makes sure of it.
TEST(Exl3PanelStates, AreAllRoundedExactly) {
  if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  for (const Codebook codebook : {Codebook::kMul1, Codebook::kMcg, Codebook::k3inst}) {
    std::mt19937 rng(1);
    const TestMatrix matrix = TestMatrix::Random({.in = 2048, .out = 1024, .bits = 8, .codebook = codebook}, rng);
    const MatrixView& w = matrix.view();
    std::vector<bool> seen(65536);
    uint16_t states[256];
    for (Dim strip = 0; strip < w.strips(); ++strip) {
      const std::vector<float> panel = DecodeStrip(w, strip);
      for (Dim tile = 0; tile < w.in_padded / kTile * 8; ++tile) {
        const Dim kt = tile / 8, nt = tile % 8;
        Exl3StripTileStates(Exl3StripTile(w, kt, strip * 8 + nt), 8, states);
        for (Dim i = 0; i < 256; ++i) {
          seen[states[i]] = true;
          const float expected = F16ToFloat(Exl3CodebookF16(codebook, states[i]));
          const float actual = panel[(kt * kTile + i / 16) * kStripColumns + nt * kTile + i % 16];
          ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << "state " << states[i];
        }
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 65536) << Name(codebook);
  }
}

}  // namespace
}  // namespace hearth::kernels
