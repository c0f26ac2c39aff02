#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "tests/support/test_matrix.h"

namespace hearth::kernels {
namespace {

using testing::MatrixSpec;
using testing::TestMatrix;

const uint32_t kPoison = 0x7FC12345;  // a NaN that no computation makes

// Rows of random values, off by one float from any alignment.
struct Rows {
  std::vector<float> memory;
  Dim stride;
  Rows(Dim rows, Dim width, std::mt19937& rng) : memory(rows * (width + 3) + 1), stride(width + 3) {
    std::normal_distribution<float> normal;
    for (float& v : memory) v = normal(rng);
  }
  const float* data() const { return memory.data() + 1; }
};

// y with a guard behind each row and around all of it.
std::vector<uint32_t> RunLinear(const Backend& backend, const MatrixView& w, const float* x, Dim x_stride, Dim rows) {
  const Dim stride = w.out_features + 5;
  std::vector<float> y(rows * stride + 2, std::bit_cast<float>(kPoison));
  backend.linear(backend.stream, {x, x_stride, rows, w, y.data() + 1, stride});
  std::vector<uint32_t> bits;
  for (float v : y) bits.push_back(std::bit_cast<uint32_t>(v));
  EXPECT_EQ(bits[0], kPoison);
  EXPECT_EQ(bits.back(), kPoison);
  for (Dim r = 0; r < rows; ++r) {
    for (Dim c = 0; c < stride; ++c) {
      EXPECT_EQ(bits[1 + r * stride + c] == kPoison, c >= w.out_features) << "row " << r << " column " << c;
    }
  }
  return bits;
}

std::vector<MatrixSpec> AllKinds() {
  std::vector<MatrixSpec> specs;
  for (const WeightKind kind : {WeightKind::kF32, WeightKind::kF16, WeightKind::kBf16}) specs.push_back({.kind = kind});
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    for (const Codebook codebook : {Codebook::k3inst, Codebook::kMcg, Codebook::kMul1}) {
      specs.push_back({.kind = WeightKind::kExl3, .bits = bits, .codebook = codebook});
    }
  }
  return specs;
}

std::string Text(const MatrixSpec& s) {
  return "kind " + std::to_string(static_cast<int>(s.kind)) + " codebook " +
         std::to_string(static_cast<int>(s.codebook)) + " bits " + std::to_string(s.bits) + " in " +
         std::to_string(s.in) + " out " + std::to_string(s.out);
}

class Linear : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HostHasAvx2()) GTEST_SKIP() << "this processor has no AVX2";
  }
  void TearDown() override { SetKernelThreads(before_); }
  const int before_ = KernelThreads();
};

TEST_F(Linear, Avx2EqualsTheReferenceBitForBit) {
  std::mt19937 rng(7);
  for (MatrixSpec spec : AllKinds()) {
    for (int trial = 0; trial < 4; ++trial) {
      spec.in = 1 + rng() % 300;
      spec.out = 1 + rng() % 300;
      spec.bias = trial % 2 == 1;
      const Dim rows = trial == 0 ? rng() % 6 : rng() % 41;
      const TestMatrix matrix = TestMatrix::Random(spec, rng);
      const Rows x(rows, spec.in, rng);
      EXPECT_EQ(RunLinear(Avx2Backend(), matrix.view(), x.data(), x.stride, rows),
                RunLinear(RefBackend(), matrix.view(), x.data(), x.stride, rows))
          << Text(spec) << " rows " << rows;
    }
  }
}

TEST_F(Linear, RowsDoNotDependOnTheirNumber) {
  std::mt19937 rng(8);
  for (MatrixSpec spec : AllKinds()) {
    spec.in = 333;
    spec.out = 200;
    spec.bias = true;
    const TestMatrix matrix = TestMatrix::Random(spec, rng);
    const Rows x(40, spec.in, rng);
    const Dim stride = spec.out;
    std::vector<float> alone(40 * stride);
    for (Dim r = 0; r < 40; ++r) {
      Avx2Backend().linear(nullptr, {x.data() + r * x.stride, x.stride, 1, matrix.view(), &alone[r * stride], stride});
    }
    for (Dim rows = 1; rows <= 40; ++rows) {
      std::vector<float> together(rows * stride);
      Avx2Backend().linear(nullptr, {x.data(), x.stride, rows, matrix.view(), together.data(), stride});
      ASSERT_TRUE(std::equal(together.begin(), together.end(), alone.begin())) << Text(spec) << " rows " << rows;
    }
  }
}

TEST_F(Linear, ThreadsDoNotShow) {
  std::mt19937 rng(9);
  for (const WeightKind kind : {WeightKind::kExl3, WeightKind::kBf16}) {
    const MatrixSpec spec{.kind = kind, .in = 1024, .out = 1500, .bits = 3};
    const TestMatrix matrix = TestMatrix::Random(spec, rng);
    for (const Dim rows : {1, 7, 300, 600}) {
      const Rows x(rows, spec.in, rng);
      SetKernelThreads(1);
      const auto serial = RunLinear(Avx2Backend(), matrix.view(), x.data(), x.stride, rows);
      for (const int threads : {2, 5}) {
        SetKernelThreads(threads);
        EXPECT_EQ(RunLinear(Avx2Backend(), matrix.view(), x.data(), x.stride, rows), serial)
            << Text(spec) << " rows " << rows << " threads " << threads;
      }
    }
  }
}

TEST_F(Linear, MatchesTheFormula) {
  std::mt19937 rng(10);
  for (MatrixSpec spec : AllKinds()) {
    spec.in = 1 + rng() % 700;
    spec.out = 1 + rng() % 300;
    spec.bias = rng() % 2;
    const TestMatrix matrix = TestMatrix::Random(spec, rng);
    const std::vector<double> dense = matrix.Dense();
    const Rows x(7, spec.in, rng);
    for (const Backend* backend : {&RefBackend(), &Avx2Backend()}) {
      std::vector<float> y(7 * spec.out);
      backend->linear(backend->stream, {x.data(), x.stride, 7, matrix.view(), y.data(), spec.out});
      double worst = 0, square = 0;
      for (Dim r = 0; r < 7; ++r) {
        const float* row = x.data() + r * x.stride;
        const auto expected = testing::FormulaLinear(matrix, dense, std::vector<double>(row, row + spec.in));
        for (Dim c = 0; c < spec.out; ++c) {
          worst = std::max(worst, std::fabs(y[r * spec.out + c] - expected[c]));
          square += expected[c] * expected[c];
        }
      }
      EXPECT_LE(worst, 1e-6 * std::sqrt(square / static_cast<double>(7 * spec.out))) << Text(spec) << backend->name;
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
