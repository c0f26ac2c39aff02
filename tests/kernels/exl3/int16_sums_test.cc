#include "kernels/exl3/int16_sums_choice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/exl3/exl3.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

std::vector<Int16SumsVariant> FastSums() {
  std::vector<Int16SumsVariant> out;
  if (HostHasAvx2()) out.assign(kAvx2Int16Sums.begin(), kAvx2Int16Sums.end());
  if (HostHasAvx512()) out.insert(out.end(), kAvx512Int16Sums.begin(), kAvx512Int16Sums.end());
  return out;
}

// Rows of random values that use the whole range of int16 activations.
struct Rows {
  static constexpr Dim kStrideBytes = 384 * 4 + 64;
  alignas(64) std::byte memory[9 * kStrideBytes];
  Rows(Dim inputs, std::mt19937& rng) {
    for (Dim r = 0; r < 9; ++r) {
      const Int16Row row(memory + r * kStrideBytes, inputs);
      for (Dim b = 0; b < inputs / kInt16Block; ++b) {
        float x[kInt16Block];
        for (float& v : x) v = std::normal_distribution<float>(0.5f, 1.0f)(rng);
        QuantizeBlockRef(x, row.values + b * kInt16Block, row.scales + b, row.starts + b);
      }
    }
  }
};

TEST(Int16Sums, AllInstructionSetsGiveTheBitsOfThePlainLoops) {
  if (FastSums().empty()) GTEST_SKIP() << "this processor has no AVX2";
  std::mt19937 rng(1);
  constexpr Dim kIn = 384, kOut = 384;
  const Rows x(kIn, rng);
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    const auto matrix =
        testing::TestMatrix::Random({.in = kIn, .out = kOut, .bits = bits, .codebook = Codebook::kMul1}, rng);
    for (const Int16SumsVariant& fast : FastSums()) {
      for (const Dim rows : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
        for (Dim strip = 0; strip < kOut / kStripColumns; ++strip) {
          alignas(64) float want[9 * kStripColumns], got[9 * kStripColumns];
          for (float* y : {want, got}) std::fill_n(y, rows * kStripColumns, 0.25f);
          Int16SumsRef(matrix.view(), strip, x.memory, Rows::kStrideBytes, rows, want);
          fast.sums(matrix.view(), strip, x.memory, Rows::kStrideBytes, rows, got);
          ASSERT_EQ(std::memcmp(want, got, static_cast<size_t>(rows) * kStripColumns * 4), 0)
              << fast.name << ", K = " << bits << ", " << rows << " rows, strip " << strip;
        }
      }
    }
  }
}

// The largest activations with the largest and smallest byte sums must not leave int32.
TEST(Int16Sums, ExtremeValuesDoNotOverflow) {
  // K = 8 words of equal bytes b make every state b * 257.
  int most = 0, least = 2000;
  uint8_t most_byte = 0, least_byte = 0;
  for (int b = 0; b < 256; ++b) {
    const uint32_t x = static_cast<uint32_t>(b * 257) * 0x83DCD12Du;
    const int sum = static_cast<int>((x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24));
    if (sum > most) most = sum, most_byte = static_cast<uint8_t>(b);
    if (sum < least) least = sum, least_byte = static_cast<uint8_t>(b);
  }
  std::vector<Int16SumsVariant> all = FastSums();
  all.push_back({"ref", Int16SumsRef});
  for (const auto& [byte, sum] : {std::pair{most_byte, most}, std::pair{least_byte, least}}) {
    alignas(64) uint8_t words[128 * 128];
    std::memset(words, byte, sizeof words);
    MatrixView w;
    w.kind = WeightKind::kExl3;
    w.codebook = Codebook::kMul1;
    w.bits = 8;
    w.in_features = w.in_padded = w.out_features = w.out_padded = 128;
    w.data = words;
    for (const int sign : {1, -1}) {
      alignas(64) std::byte memory[128 * 4];
      const Int16Row row(memory, 128);
      float x[kInt16Block];
      std::fill_n(x, kInt16Block, static_cast<float>(sign) * 3.0f);
      QuantizeBlockRef(x, row.values, row.scales, row.starts);
      ASSERT_EQ(row.values[5], sign * kInt16Largest);
      row.scales[0] = 1;
      for (const Int16SumsVariant& any : all) {
        alignas(64) float y[kStripColumns] = {};
        any.sums(w, 0, memory, sizeof memory, 1, y);
        EXPECT_EQ(y[0], static_cast<float>(int64_t{sign} * kInt16Largest * 128 * (sum - 510))) << any.name;
        EXPECT_EQ(y[127], y[0]) << any.name;
      }
    }
  }
}

TEST(Int16Row, QuantizesToTheNearestOfThirtyThousandSteps) {
  std::mt19937 rng(2);
  float x[kInt16Block];
  for (float& v : x) v = std::normal_distribution<float>(0, 3)(rng);
  x[77] = -20;
  int16_t values[kInt16Block];
  float scale = 0;
  int32_t start = 0, sum = 0;
  QuantizeBlockRef(x, values, &scale, &start);
  EXPECT_EQ(values[77], -kInt16Largest);
  const double q = static_cast<double>(scale) / static_cast<double>(kMul1Alpha);
  EXPECT_NEAR(q, 20.0 / kInt16Largest, 1e-9);
  for (Dim i = 0; i < kInt16Block; ++i) {
    EXPECT_NEAR(values[i] * q, x[i], 0.5005 * q);
    sum += values[i];
  }
  EXPECT_EQ(start, -510 * sum);
}

TEST(Int16Row, Avx2GivesTheSameBitsForAnyNumbers) {
  if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  std::mt19937 rng(3);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float odd[] = {0, -0.0f, 1e-38f, 1e-31f, -3e38f, kInfinity, -kInfinity, std::nanf(""), 1e-30f, 65504};
  for (int round = 0; round < 400; ++round) {
    float x[kInt16Block];
    const float spread = std::exp2(static_cast<float>(static_cast<int>(rng() % 240)) - 130);
    for (float& v : x) v = round % 4 == 3 ? 0 : std::normal_distribution<float>(0, spread)(rng);
    if (round % 4 >= 2) x[rng() % kInt16Block] = odd[rng() % std::size(odd)];
    int16_t want[kInt16Block], got[kInt16Block];
    float want_scale = 0, got_scale = 0;
    int32_t want_start = 0, got_start = 0;
    QuantizeBlockRef(x, want, &want_scale, &want_start);
    avx2::QuantizeBlock(x, got, &got_scale, &got_start);
    ASSERT_EQ(std::memcmp(want, got, sizeof want), 0) << round;
    ASSERT_EQ(std::memcmp(&want_scale, &got_scale, 4), 0) << round << ": " << want_scale << " " << got_scale;
    ASSERT_EQ(want_start, got_start) << round;
  }
}

void TakesAMillisecond(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (std::chrono::steady_clock::now() < until) {
  }
  Int16SumsRef(w, strip, x, stride, rows, sums);
}

TEST(Int16Sums, TheQuickestIsChosenWhereverItStands) {
  const Int16SumsVariant slow = {"slow", TakesAMillisecond};
  if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  for (const Int16SumsVariant& fast : kAvx2Int16Sums) {
    EXPECT_STREQ(QuickestInt16Sums(std::vector{slow, fast}).name, fast.name);
    EXPECT_STREQ(QuickestInt16Sums(std::vector{fast, slow, slow}).name, fast.name);
  }
}

}  // namespace
}  // namespace hearth::kernels
