#include "kernels/mixer/mixer.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

class HcMixTest : public OpTest {};

struct Case {
  Dim rows, hc, hidden;
  Floats streams, fn, base, scale, norm_weight;
  float rms_eps = 1e-5f, hc_eps = 1e-6f;
  int iterations = 20;
};

Case MakeCase(Dim rows, Dim hc, Dim hidden, double base_scale = 1.0) {
  Numbers numbers(static_cast<uint64_t>(rows + 100 * hc + 10000 * hidden));
  const Dim products = 2 * hc + hc * hc, width = hc * hidden;
  Case c{rows, hc, hidden, numbers.Some(rows * width, 2.0), {}, {}, {}, {}};
  c.fn = numbers.Some(products * width, 3.0 / std::sqrt(static_cast<double>(width)));
  c.base = numbers.Some(products, base_scale);
  c.scale = numbers.Some(3, 0.5, 1.0);
  c.norm_weight = numbers.Some(hidden, 0.5, 1.0);
  return c;
}

struct Result {
  Floats x, post, comb;
};

Result Compute(const Backend& ops, const Case& c, Dim first, Dim rows) {
  Result out{Poisoned(rows * c.hidden), Poisoned(rows * c.hc), Poisoned(rows * c.hc * c.hc)};
  HcMixArgs args;
  args.streams = c.streams.data() + first * c.hc * c.hidden;
  args.fn = c.fn.data();
  args.base = c.base.data();
  args.scale = c.scale.data();
  args.norm_weight = c.norm_weight.data();
  args.rows = rows;
  args.hc = c.hc;
  args.hidden = c.hidden;
  args.rms_eps = c.rms_eps;
  args.hc_eps = c.hc_eps;
  args.iterations = c.iterations;
  args.x = out.x.data();
  args.post = out.post.data();
  args.comb = out.comb.data();
  ops.hc_mix(nullptr, args);
  return out;
}

struct Expected {
  Doubles x, post, comb;
};

// The formulas in double precision, written for one row at a time.
Expected Evaluate(const Case& c) {
  Expected out;
  const Dim hc = c.hc, width = hc * c.hidden;
  for (Dim row = 0; row < c.rows; ++row) {
    const float* v = c.streams.data() + row * width;
    double squares = 0;
    for (Dim i = 0; i < width; ++i) squares += static_cast<double>(v[i]) * v[i];
    const double r = 1.0 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(c.rms_eps));
    const auto product = [&](Dim k) {
      double sum = 0;
      for (Dim i = 0; i < width; ++i) sum += static_cast<double>(c.fn[k * width + i]) * v[i];
      const Dim part = k < hc ? 0 : k < 2 * hc ? 1 : 2;
      return sum * r * c.scale[part] + c.base[k];
    };
    Doubles pre;
    for (Dim s = 0; s < hc; ++s) pre.push_back(Sigma(product(s)) + static_cast<double>(c.hc_eps));
    for (Dim j = 0; j < hc; ++j) out.post.push_back(2.0 * Sigma(product(hc + j)));

    const double eps = c.hc_eps;
    std::vector<Doubles> comb(hc, Doubles(hc));
    for (Dim i = 0; i < hc; ++i) {
      double sum = 0;
      for (Dim j = 0; j < hc; ++j) sum += comb[i][j] = std::exp(product(2 * hc + i * hc + j));
      for (Dim j = 0; j < hc; ++j) comb[i][j] = comb[i][j] / sum + eps;
    }
    for (int half = 1; half < 2 * c.iterations; ++half) {  // columns, then rows and columns in turn
      for (Dim a = 0; a < hc; ++a) {
        const bool columns = half % 2 == 1;
        double sum = eps;
        for (Dim b = 0; b < hc; ++b) sum += columns ? comb[b][a] : comb[a][b];
        for (Dim b = 0; b < hc; ++b) (columns ? comb[b][a] : comb[a][b]) /= sum;
      }
    }
    for (const Doubles& line : comb) out.comb.insert(out.comb.end(), line.begin(), line.end());

    Doubles u(c.hidden);
    double norm = 0;
    for (Dim d = 0; d < c.hidden; ++d) {
      for (Dim s = 0; s < hc; ++s) u[d] += pre[s] * v[s * c.hidden + d];
      norm += u[d] * u[d];
    }
    const double root = std::sqrt(norm / static_cast<double>(c.hidden) + static_cast<double>(c.rms_eps));
    for (Dim d = 0; d < c.hidden; ++d) out.x.push_back(u[d] / root * c.norm_weight[d]);
  }
  return out;
}

void ExpectClose(const Result& got, const Expected& want, double tolerance, const std::string& what) {
  EXPECT_TRUE(Close(got.x, want.x, tolerance)) << what;
  EXPECT_TRUE(Close(got.post, want.post, tolerance)) << what;
  EXPECT_TRUE(Close(got.comb, want.comb, tolerance)) << what;
}

TEST_P(HcMixTest, EqualsTheFormulaInDoublePrecision) {
  for (Dim hc : {1, 2, 3, 4, 5}) {
    for (Dim hidden : {1, 7, 16, 61, 256}) {
      const Case c = MakeCase(11, hc, hidden);
      // Inputs of the exponentials are sums of hc*hidden products; an error there is passed on as it is.
      const double tolerance = 1e-6 * (1 + 0.1 * std::sqrt(static_cast<double>(hc * hidden)));
      ExpectClose(Compute(Ops(), c, 0, 11), Evaluate(c), tolerance,
                  "streams " + std::to_string(hc) + " hidden " + std::to_string(hidden));
    }
  }
}

TEST_P(HcMixTest, RealWidthAndOtherConstants) {
  Case c = MakeCase(3, 4, 4096);
  c.rms_eps = 1e-6f;
  c.hc_eps = 1e-4f;
  c.iterations = 3;
  ExpectClose(Compute(Ops(), c, 0, 3), Evaluate(c), 1e-5, "real width");
  c.iterations = 1;
  ExpectClose(Compute(Ops(), c, 0, 3), Evaluate(c), 1e-5, "one iteration");
}

TEST_P(HcMixTest, ColumnsSumToOneWithExtremeBases) {
  const Case c = MakeCase(16, 4, 32, 12.0);
  const Result got = Compute(Ops(), c, 0, 16);
  for (Dim row = 0; row < 16; ++row) {
    for (Dim j = 0; j < 4; ++j) {
      double sum = 0;
      for (Dim i = 0; i < 4; ++i) sum += static_cast<double>(got.comb[row * 16 + i * 4 + j]);
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
  }
  ExpectClose(got, Evaluate(c), 2e-5, "extreme bases");
}

TEST_P(HcMixTest, RowAloneHasTheSameBits) {
  for (Dim hidden : {13, 256}) {
    const Case c = MakeCase(21, 4, hidden);
    const Result all = Compute(Ops(), c, 0, 21);
    for (Dim r = 0; r < 21; ++r) {
      const Result one = Compute(Ops(), c, r, 1);
      EXPECT_TRUE(SameBits(one.x, Rows(all.x, hidden, r, 1))) << r;
      EXPECT_TRUE(SameBits(one.post, Rows(all.post, 4, r, 1))) << r;
      EXPECT_TRUE(SameBits(one.comb, Rows(all.comb, 16, r, 1))) << r;
    }
    ThreadsForTest one_thread(1);
    EXPECT_TRUE(SameBits(Compute(Ops(), c, 0, 21).x, all.x));
  }
}

HEARTH_OP_TESTS(HcMixTest);

}  // namespace
}  // namespace hearth::kernels
