#include "kernels/kda/kda.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

class KdaPrepareTest : public OpTest {};

struct Case {
  Dim rows, heads, dim;
  float lower_bound;
  Floats qkv, f, b, a_log, dt_bias;

  Dim width() const { return heads * dim; }
};

Case MakeCase(Dim rows, Dim heads, Dim dim, float lower_bound, double scale) {
  Numbers numbers(static_cast<uint64_t>(rows * 100 + heads * 1000 + dim));
  Case c{rows, heads, dim, lower_bound, numbers.Some(rows * 3 * heads * dim, scale), {}, {}, {}, {}};
  c.f = numbers.Some(rows * heads * dim, 3.0);
  c.b = numbers.Some(rows * heads, 6.0);
  c.a_log = numbers.Some(heads, 1.0);
  c.dt_bias = numbers.Some(heads * dim, 2.0);
  return c;
}

struct Result {
  Floats qkv, g, beta;
};

Result Prepare(const Backend& ops, const Case& c, Dim first, Dim rows) {
  const Dim width = c.width();
  Result out{Rows(c.qkv, 3 * width, first, rows), Poisoned(rows * width), Poisoned(rows * c.heads)};
  KdaPrepareArgs args;
  args.qkv = out.qkv.data();
  args.f = c.f.data() + first * width;
  args.b = c.b.data() + first * c.heads;
  args.a_log = c.a_log.data();
  args.dt_bias = c.dt_bias.data();
  args.lower_bound = c.lower_bound;
  args.rows = rows;
  args.heads = c.heads;
  args.dim = c.dim;
  args.g = out.g.data();
  args.beta = out.beta.data();
  ops.kda_prepare(nullptr, args);
  return out;
}

TEST_P(KdaPrepareTest, EqualsTheFormulaInDoublePrecision) {
  for (Dim dim : {1, 5, 8, 24, 33, 128}) {
    for (double scale : {1e-3, 1.0}) {  // at the small one the epsilon and its place decide
      const Case c = MakeCase(4, 3, dim, -3.5f, scale);
      const Dim width = c.width();
      Doubles qkv, g, beta;
      for (Dim r = 0; r < c.rows; ++r) {
        for (Dim part = 0; part < 3; ++part) {
          for (Dim h = 0; h < c.heads; ++h) {
            const float* x = c.qkv.data() + (r * 3 + part) * width + h * dim;
            double squares = 0;
            for (Dim i = 0; i < dim; ++i) squares += static_cast<double>(x[i]) * x[i];
            double factor = part == 2 ? 1.0 : 1.0 / std::sqrt(squares + 1e-6);
            if (part == 0) factor /= std::sqrt(static_cast<double>(dim));
            for (Dim i = 0; i < dim; ++i) qkv.push_back(x[i] * factor);
          }
        }
        for (Dim i = 0; i < width; ++i) {
          const double z = static_cast<double>(c.f[r * width + i]) + c.dt_bias[i];
          g.push_back(c.lower_bound * Sigma(std::exp(static_cast<double>(c.a_log[i / dim])) * z));
        }
        for (Dim h = 0; h < c.heads; ++h) beta.push_back(Sigma(c.b[r * c.heads + h]));
      }
      const Result got = Prepare(Ops(), c, 0, c.rows);
      EXPECT_TRUE(Close(got.qkv, qkv, 1e-6)) << dim;
      EXPECT_TRUE(Close(got.g, g, 1e-6)) << dim;
      EXPECT_TRUE(Close(got.beta, beta, 1e-6)) << dim;
      const Result last = Prepare(Ops(), c, 3, 1);
      EXPECT_TRUE(SameBits(last.qkv, Rows(got.qkv, 3 * width, 3, 1)));
      EXPECT_TRUE(SameBits(last.g, Rows(got.g, width, 3, 1)));
      EXPECT_TRUE(SameBits(last.beta, Rows(got.beta, c.heads, 3, 1)));
    }
  }
}

HEARTH_OP_TESTS(KdaPrepareTest);

class KdaOutputTest : public OpTest {};

TEST_P(KdaOutputTest, NormalisesThenGates) {
  constexpr Dim kRows = 3, kHeads = 2;
  for (Dim dim : {1, 6, 8, 27, 128}) {
    for (double scale : {1e-3, 1.0}) {  // real outputs lie below the root of eps
      Numbers numbers(static_cast<uint64_t>(dim));
      const Floats o = numbers.Some(kRows * kHeads * dim, scale), gate = numbers.Some(kRows * kHeads * dim, 5.0);
      const Floats weight = numbers.Some(dim, 0.5, 1.0);
      constexpr float kEps = 1e-5f;
      Doubles want;
      for (Dim head = 0; head < kRows * kHeads; ++head) {
        double squares = 0;
        for (Dim i = 0; i < dim; ++i) squares += static_cast<double>(o[head * dim + i]) * o[head * dim + i];
        const double root = std::sqrt(squares / static_cast<double>(dim) + static_cast<double>(kEps));
        for (Dim i = 0; i < dim; ++i) {
          want.push_back(o[head * dim + i] / root * weight[i] * Sigma(gate[head * dim + i]));
        }
      }
      Floats out = Poisoned(kRows * kHeads * dim);
      KdaOutputArgs args{o.data(), gate.data(), weight.data(), kEps, kRows, kHeads, dim, out.data()};
      Ops().kda_output(nullptr, args);
      EXPECT_TRUE(Close(out, want, 1e-6)) << dim;

      Floats in_place = o;
      args.o = args.out = in_place.data();
      Ops().kda_output(nullptr, args);
      EXPECT_TRUE(SameBits(in_place, out));
      Floats last = Rows(o, kHeads * dim, kRows - 1, 1);
      Ops().kda_output(nullptr, {last.data(), gate.data() + (kRows - 1) * kHeads * dim, weight.data(), kEps, 1, kHeads,
                                 dim, last.data()});
      EXPECT_TRUE(SameBits(last, Rows(out, kHeads * dim, kRows - 1, 1)));
    }
  }
}

HEARTH_OP_TESTS(KdaOutputTest);

}  // namespace
}  // namespace hearth::kernels
