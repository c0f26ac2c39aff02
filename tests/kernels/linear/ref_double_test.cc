#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "tests/support/test_matrix.h"

// The reference compiled with Real = double: formula and operation must agree to fp64 rounding, which no float path
// can show.
namespace hearth::kernels {
namespace {

using testing::MatrixSpec;
using testing::TestMatrix;

static_assert(sizeof(Real) == 8);

std::vector<double> Normal(Dim count, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& v : values) v = normal(rng);
  return values;
}

void ExpectClose(const std::vector<double>& actual, const std::vector<double>& expected) {
  double square = 0;
  for (double v : expected) square += v * v;
  const double rms = std::sqrt(square / static_cast<double>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-13 * rms) << i;
}

TEST(RefDouble, LinearIsTheFormula) {
  std::mt19937 rng(1);
  for (const WeightKind kind : {WeightKind::kExl3, WeightKind::kF16, WeightKind::kBf16, WeightKind::kF32}) {
    for (uint32_t bits = 1; bits <= (kind == WeightKind::kExl3 ? 8 : 1); ++bits) {
      const TestMatrix matrix =
          TestMatrix::Random({.kind = kind, .in = 200, .out = 140, .bits = bits, .bias = true}, rng);
      const std::vector<double> x = Normal(200, rng);
      std::vector<double> y(140, NAN);
      RefBackend().linear(nullptr, {x.data(), 200, 1, matrix.view(), y.data(), 140});
      ExpectClose(y, testing::FormulaLinear(matrix, matrix.Dense(), x));
    }
  }
}

TEST(RefDouble, ExpertIsTheFormula) {
  std::mt19937 rng(2);
  const Dim hidden = 200, width = 72;
  const TestMatrix gate = TestMatrix::Random({.in = hidden, .out = width, .bits = 3}, rng);
  const TestMatrix up = TestMatrix::Random({.in = hidden, .out = width, .bits = 5}, rng);
  const TestMatrix down = TestMatrix::Random({.kind = WeightKind::kBf16, .in = width, .out = hidden}, rng);
  const double limit = 1.5;
  const std::vector<double> x = Normal(hidden, rng);
  const int32_t row = 0;
  std::vector<double> out(hidden, NAN);
  RefBackend().expert_ffn(
      nullptr,
      {{gate.view(), up.view(), down.view(), static_cast<float>(limit)}, x.data(), &row, out.data(), &row, 1, hidden});
  const auto g = testing::FormulaLinear(gate, gate.Dense(), x), u = testing::FormulaLinear(up, up.Dense(), x);
  std::vector<double> mid(width);
  for (Dim i = 0; i < width; ++i) {
    const double clipped = std::min(g[i], limit);
    mid[i] = clipped / (1 + std::exp(-clipped)) * std::max(-limit, std::min(u[i], limit));
  }
  ExpectClose(out, testing::FormulaLinear(down, down.Dense(), mid));
}

}  // namespace
}  // namespace hearth::kernels
