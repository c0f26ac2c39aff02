#include "kernels/kda/kda.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

class ShortConvTest : public OpTest {};

struct Case {
  Dim rows, channels, taps;
  Floats raw, weight, history;
};

Case MakeCase(Dim rows, Dim channels, Dim taps) {
  Numbers numbers(static_cast<uint64_t>(rows * 1000 + channels * 10 + taps));
  Case c{rows, channels, taps, numbers.Some(rows * channels, 4.0), {}, {}};
  c.weight = numbers.Some(channels * taps, 1.5);
  c.history = numbers.Some((taps - 1) * channels, 4.0);
  return c;
}

struct Result {
  Floats out, history;
};

Result Convolve(const Backend& ops, const Case& c, const std::vector<Dim>& pieces) {
  Result result{{}, c.history};
  Dim done = 0;
  for (size_t i = 0; done < c.rows; ++i) {
    const Dim count = std::min(c.rows - done, i < pieces.size() ? pieces[i] : c.rows);
    Floats out = Poisoned(count * c.channels);
    KdaSegment segment{0, count, done, result.history.data(), nullptr};
    ops.short_conv(nullptr,
                   {c.raw.data() + done * c.channels, c.weight.data(), &segment, 1, c.channels, c.taps, out.data()});
    result.out.insert(result.out.end(), out.begin(), out.end());
    done += count;
  }
  return result;
}

TEST_P(ShortConvTest, EqualsTheFormulaAndKeepsTheLastRawRows) {
  for (Dim taps : {1, 2, 3, 4, 7}) {
    for (Dim channels : {1, 7, 8, 63, 64, 65, 200}) {
      for (Dim rows : {1, 2, 3, 5, 33}) {
        SCOPED_TRACE(testing::Message() << taps << " taps, " << channels << " channels, " << rows << " rows");
        const Case c = MakeCase(rows, channels, taps);
        const auto line = [&](Dim t, Dim ch) -> double {  // t = 0 is the first new row
          return t < 0 ? c.history[(t + taps - 1) * channels + ch] : c.raw[t * channels + ch];
        };
        Doubles want;
        for (Dim t = 0; t < rows; ++t) {
          for (Dim ch = 0; ch < channels; ++ch) {
            double sum = 0;
            for (Dim j = 0; j < taps; ++j) sum += c.weight[ch * taps + j] * line(t - (taps - 1) + j, ch);
            want.push_back(sum * Sigma(sum));
          }
        }
        const Result got = Convolve(Ops(), c, {});
        EXPECT_TRUE(Close(got.out, want, 1e-6));
        Floats kept;
        for (Dim t = rows - (taps - 1); t < rows; ++t) {
          for (Dim ch = 0; ch < channels; ++ch) kept.push_back(static_cast<float>(line(t, ch)));
        }
        EXPECT_TRUE(SameBits(got.history, kept));
      }
    }
  }
}

TEST_P(ShortConvTest, AnyCutHasTheSameBits) {
  const Case c = MakeCase(140, 70, 4);
  const Result whole = Convolve(Ops(), c, {});
  for (const std::vector<Dim>& pieces : {std::vector<Dim>{1}, {2, 1}, {7}, {64, 65}, std::vector<Dim>(140, 1)}) {
    const Result cut = Convolve(Ops(), c, pieces);
    EXPECT_TRUE(SameBits(cut.out, whole.out));
    EXPECT_TRUE(SameBits(cut.history, whole.history));
  }
}

TEST_P(ShortConvTest, SegmentsHaveTheirOwnHistory) {
  const Case a = MakeCase(3, 70, 4), b = MakeCase(1, 70, 4);
  Floats raw = a.raw;
  raw.insert(raw.end(), b.raw.begin(), b.raw.end());
  Case b_with_a = b;
  b_with_a.weight = a.weight;
  const Result a_alone = Convolve(Ops(), a, {}), b_alone = Convolve(Ops(), b_with_a, {});
  Floats a_history = a.history, b_history = b.history, out = Poisoned(4 * 70);
  const KdaSegment segments[2] = {{0, 3, 0, a_history.data(), nullptr}, {3, 1, 17, b_history.data(), nullptr}};
  Ops().short_conv(nullptr, {raw.data(), a.weight.data(), segments, 2, 70, 4, out.data()});
  EXPECT_TRUE(SameBits(Rows(out, 70, 0, 3), a_alone.out));
  EXPECT_TRUE(SameBits(Rows(out, 70, 3, 1), b_alone.out));
  EXPECT_TRUE(SameBits(a_history, a_alone.history));
  EXPECT_TRUE(SameBits(b_history, b_alone.history));
}

HEARTH_OP_TESTS(ShortConvTest);

}  // namespace
}  // namespace hearth::kernels
