#include "kernels/mixer/mixer.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

class HcSpreadTest : public OpTest {};

Floats Compute(const Backend& ops, Floats streams, const Floats& y, const Floats& post, const Floats& comb, Dim rows,
               Dim hc, Dim hidden) {
  HcSpreadArgs args{streams.data(), y.data(), post.data(), comb.data(), rows, hc, hidden};
  ops.hc_spread(nullptr, args);
  return streams;
}

TEST_P(HcSpreadTest, MixesTransposed) {
  for (Dim hc : {1, 2, 4, 7}) {
    for (Dim hidden : {1, 8, 19, 256}) {
      constexpr Dim kRows = 5;
      Numbers numbers(static_cast<uint64_t>(hc * 1000 + hidden));
      const Floats streams = numbers.Some(kRows * hc * hidden, 2.0), y = numbers.Some(kRows * hidden);
      const Floats post = numbers.Some(kRows * hc, 1.0, 1.0), comb = numbers.Some(kRows * hc * hc, 0.5, 0.5);
      Doubles want(streams.size());
      for (Dim r = 0; r < kRows; ++r) {
        for (Dim j = 0; j < hc; ++j) {
          for (Dim d = 0; d < hidden; ++d) {
            double sum = static_cast<double>(post[r * hc + j]) * y[r * hidden + d];
            for (Dim i = 0; i < hc; ++i) {
              sum += static_cast<double>(comb[(r * hc + i) * hc + j]) * streams[(r * hc + i) * hidden + d];
            }
            want[(r * hc + j) * hidden + d] = sum;
          }
        }
      }
      const Floats got = Compute(Ops(), streams, y, post, comb, kRows, hc, hidden);
      EXPECT_TRUE(Close(got, want, 1e-6)) << hc << " streams of " << hidden;
      for (Dim r = 0; r < kRows; ++r) {
        const Floats one = Compute(Ops(), Rows(streams, hc * hidden, r, 1), Rows(y, hidden, r, 1), Rows(post, hc, r, 1),
                                   Rows(comb, hc * hc, r, 1), 1, hc, hidden);
        EXPECT_TRUE(SameBits(one, Rows(got, hc * hidden, r, 1)));
      }
    }
  }
}

HEARTH_OP_TESTS(HcSpreadTest);

class HeadNormTest : public OpTest {};

TEST_P(HeadNormTest, AveragesThenNormalises) {
  for (Dim hc : {1, 3, 4}) {
    for (Dim hidden : {1, 15, 256}) {
      constexpr Dim kRows = 4;
      constexpr float kEps = 1e-3f;  // large enough to tell a mean from a sum
      Numbers numbers(static_cast<uint64_t>(hc * 777 + hidden));
      const Floats streams = numbers.Some(kRows * hc * hidden, 0.1), weight = numbers.Some(hidden, 0.5, 1.0);
      Doubles want;
      for (Dim r = 0; r < kRows; ++r) {
        Doubles z(hidden);
        double squares = 0;
        for (Dim d = 0; d < hidden; ++d) {
          for (Dim s = 0; s < hc; ++s) z[d] += streams[(r * hc + s) * hidden + d] / static_cast<double>(hc);
          squares += z[d] * z[d];
        }
        const double root = std::sqrt(squares / static_cast<double>(hidden) + static_cast<double>(kEps));
        for (Dim d = 0; d < hidden; ++d) want.push_back(z[d] / root * weight[d]);
      }
      Floats out = Poisoned(kRows * hidden);
      HeadNormArgs args{streams.data(), weight.data(), kRows, hc, hidden, kEps, out.data()};
      Ops().head_norm(nullptr, args);
      EXPECT_TRUE(Close(out, want, 2e-6)) << hc << " streams of " << hidden;
      Floats last = Poisoned(hidden);
      args.streams += (kRows - 1) * hc * hidden;
      args.rows = 1;
      args.out = last.data();
      Ops().head_norm(nullptr, args);
      EXPECT_TRUE(SameBits(last, Rows(out, hidden, kRows - 1, 1)));
    }
  }
}

HEARTH_OP_TESTS(HeadNormTest);

}  // namespace
}  // namespace hearth::kernels
