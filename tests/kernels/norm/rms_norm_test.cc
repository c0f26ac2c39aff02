#include "kernels/norm/norm.h"

#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

class RmsNormTest : public OpTest {};

struct Case {
  Dim rows, dim;
  float eps;
  Floats x, weight;
};

Case MakeCase(Dim rows, Dim dim, float eps, double scale) {
  Numbers numbers(static_cast<uint64_t>(rows * 1000 + dim));
  return {rows, dim, eps, numbers.Some(rows * dim, scale), numbers.Some(dim, 0.5, 1.0)};
}

Floats Compute(const Backend& ops, const Case& c, Dim first, Dim rows) {
  Floats out = Poisoned(rows * c.dim);
  RmsNormArgs args;
  args.x = c.x.data() + first * c.dim;
  args.weight = c.weight.data();
  args.rows = rows;
  args.dim = c.dim;
  args.eps = c.eps;
  args.out = out.data();
  ops.rms_norm(nullptr, args);
  return out;
}

TEST_P(RmsNormTest, EqualsTheFormulaInDoublePrecision) {
  for (Dim dim : {1, 3, 7, 8, 9, 31, 32, 33, 63, 65, 128, 256, 1000, 4096}) {
    for (double scale : {1e-4, 1.0, 100.0}) {
      const Case c = MakeCase(3, dim, 1e-5f, scale);
      Doubles want;
      for (Dim r = 0; r < c.rows; ++r) {
        double sum = 0;
        for (Dim i = 0; i < dim; ++i) sum += static_cast<double>(c.x[r * dim + i]) * c.x[r * dim + i];
        const double root = std::sqrt(sum / static_cast<double>(dim) + static_cast<double>(c.eps));
        for (Dim i = 0; i < dim; ++i) want.push_back(c.x[r * dim + i] / root * c.weight[i]);
      }
      // Half an ulp per operation; the sum's error grows with the root of its length.
      EXPECT_TRUE(Close(Compute(Ops(), c, 0, 3), want, 6e-8 * (4 + std::sqrt(static_cast<double>(dim)))))
          << "dim " << dim << " scale " << scale;
    }
  }
}

TEST_P(RmsNormTest, RowAloneHasTheSameBits) {
  for (Dim dim : {5, 64, 257}) {
    const Case c = MakeCase(9, dim, 1e-6f, 1.0);
    const Floats all = Compute(Ops(), c, 0, 9);
    for (Dim r = 0; r < 9; ++r) EXPECT_TRUE(SameBits(Compute(Ops(), c, r, 1), Rows(all, dim, r, 1)));
  }
}

TEST_P(RmsNormTest, WorksInPlace) {
  Case c = MakeCase(2, 77, 1e-5f, 1.0);
  const Floats want = Compute(Ops(), c, 0, 2);
  RmsNormArgs args{c.x.data(), c.weight.data(), 2, 77, 1e-5f, c.x.data()};
  Ops().rms_norm(nullptr, args);
  EXPECT_TRUE(SameBits(c.x, want));
}

HEARTH_OP_TESTS(RmsNormTest);

}  // namespace
}  // namespace hearth::kernels
