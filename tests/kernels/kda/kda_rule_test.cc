#include "tests/kernels/kda/kda_rule_case.h"

namespace hearth::kernels {
namespace {

class KdaRuleTest : public OpTest {};

constexpr double kTolerance = 1e-5;  // of the largest value; fp32 against double

void ExpectClose(const KdaRuleResult& got, const KdaRuleExpected& want, double tolerance) {
  EXPECT_TRUE(Close(got.o, want.o, tolerance));
  EXPECT_TRUE(Close(got.state, want.state, tolerance));
}

void ExpectSame(const KdaRuleResult& a, const KdaRuleResult& b) {
  EXPECT_TRUE(SameBits(a.o, b.o));
  EXPECT_TRUE(SameBits(a.state, b.state));
}

TEST_P(KdaRuleTest, BothFormsEqualTheRecurrenceInDoublePrecision) {
  for (Gates gates : {Gates::kNearZero, Gates::kAtBound, Gates::kSpread, Gates::kSteep}) {
    for (Dim rows : {1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100, 128, 200}) {
      SCOPED_TRACE(testing::Message() << "gates " << static_cast<int>(gates) << ", rows " << rows);
      const KdaRuleCase c = MakeKdaRuleCase(rows, 2, 128, gates);
      const KdaRuleExpected want = EvaluateKdaRule(c);
      ExpectClose(RunKdaRule(Ops().kda_recurrent, c, 0, rows, 0, c.state), want, kTolerance);
      ExpectClose(RunKdaRule(Ops().kda_chunked, c, 0, rows, 0, c.state), want, kTolerance);
    }
  }
}

TEST_P(KdaRuleTest, AnyHeadWidth) {
  for (Dim dim : {1, 3, 8, 12, 16, 17, 24, 31, 40, 64, 65, 100, 136}) {
    for (Dim heads : {1, 3}) {
      SCOPED_TRACE(testing::Message() << heads << " heads of " << dim);
      const KdaRuleCase c = MakeKdaRuleCase(77, heads, dim, Gates::kSpread);
      const KdaRuleExpected want = EvaluateKdaRule(c);
      ExpectClose(RunKdaRule(Ops().kda_recurrent, c, 0, 77, 0, c.state), want, kTolerance);
      ExpectClose(RunKdaRule(Ops().kda_chunked, c, 0, 77, 0, c.state), want, kTolerance);
    }
  }
}

TEST_P(KdaRuleTest, CutsAtMultiplesOfABlockChangeNoBit) {
  for (Gates gates : {Gates::kNearZero, Gates::kAtBound, Gates::kSpread}) {
    const KdaRuleCase c = MakeKdaRuleCase(300, 2, 40, gates);
    const KdaRuleResult whole = RunKdaPieces(Ops().kda_chunked, c, 0, {});
    ExpectSame(whole, RunKdaPieces(Ops().kda_chunked, c, 0, {64}));
    ExpectSame(whole, RunKdaPieces(Ops().kda_chunked, c, 0, {64, 64, 64, 64}));
    ExpectSame(whole, RunKdaPieces(Ops().kda_chunked, c, 0, {128, 64}));
    ExpectSame(whole, RunKdaPieces(Ops().kda_chunked, c, 0, {256}));
  }
}

TEST_P(KdaRuleTest, BlocksBeginAtAbsoluteMultiples) {
  // From position 50 the first block has 14 rows: cutting there changes nothing.
  const KdaRuleCase c = MakeKdaRuleCase(150, 1, 24, Gates::kSpread);
  const KdaRuleResult whole = RunKdaPieces(Ops().kda_chunked, c, 50, {});
  ExpectSame(whole, RunKdaPieces(Ops().kda_chunked, c, 50, {14}));
  ExpectSame(whole, RunKdaPieces(Ops().kda_chunked, c, 50, {14, 64}));
  ExpectClose(whole, EvaluateKdaRule(c), kTolerance);
}

TEST_P(KdaRuleTest, RowsDoNotDependOnLaterOnes) {
  const KdaRuleCase c = MakeKdaRuleCase(128, 2, 40, Gates::kSpread);
  const KdaRuleResult whole = RunKdaPieces(Ops().kda_chunked, c, 0, {});
  for (Dim rows : {1, 5, 8, 13, 63, 65, 100, 127}) {
    const KdaRuleResult part = RunKdaRule(Ops().kda_chunked, c, 0, rows, 0, c.state);
    EXPECT_TRUE(SameBits(part.o, Rows(whole.o, c.width(), 0, rows))) << rows << " rows";
  }
}

TEST_P(KdaRuleTest, AnyCutAgreesWithinRounding) {
  const KdaRuleCase c = MakeKdaRuleCase(200, 2, 32, Gates::kSpread);
  const KdaRuleExpected want = EvaluateKdaRule(c);
  for (Dim piece : {1, 7, 63, 65}) {
    ExpectClose(RunKdaPieces(Ops().kda_chunked, c, 0, std::vector<Dim>(200, piece)), want, kTolerance);
  }
  ExpectSame(RunKdaPieces(Ops().kda_recurrent, c, 0, {}), RunKdaPieces(Ops().kda_recurrent, c, 0, {1, 7, 64, 65}));
}

TEST_P(KdaRuleTest, SegmentsAndThreadsDoNotMeet) {
  const KdaRuleCase a = MakeKdaRuleCase(70, 3, 40, Gates::kSpread, 1), b = MakeKdaRuleCase(1, 3, 40, Gates::kSpread, 2);
  KdaRuleCase both = a;
  both.rows = 71;
  both.qkv.insert(both.qkv.end(), b.qkv.begin(), b.qkv.end());
  both.g.insert(both.g.end(), b.g.begin(), b.g.end());
  both.beta.insert(both.beta.end(), b.beta.begin(), b.beta.end());
  for (auto op : {Ops().kda_chunked, Ops().kda_recurrent}) {
    const KdaRuleResult a_alone = RunKdaRule(op, a, 0, 70, 0, a.state), b_alone = RunKdaRule(op, b, 0, 1, 9, b.state);
    for (int threads : {1, 2, 5, 16}) {
      ThreadsForTest scope(threads);
      Floats a_state = a.state, b_state = b.state, o = Poisoned(71 * a.width());
      const KdaSegment segments[2] = {{0, 70, 0, nullptr, a_state.data()}, {70, 1, 9, nullptr, b_state.data()}};
      op(nullptr, {both.qkv.data(), both.g.data(), both.beta.data(), segments, 2, 3, 40, o.data()});
      EXPECT_TRUE(SameBits(Rows(o, a.width(), 0, 70), a_alone.o));
      EXPECT_TRUE(SameBits(Rows(o, a.width(), 70, 1), b_alone.o));
      EXPECT_TRUE(SameBits(a_state, a_alone.state));
      EXPECT_TRUE(SameBits(b_state, b_alone.state));
    }
  }
}

HEARTH_OP_TESTS(KdaRuleTest);

}  // namespace
}  // namespace hearth::kernels
