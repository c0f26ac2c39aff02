#include <cstdio>

#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/cuda/small_shapes.h"
#include "tests/kernels/kda/kda_rule_case.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::RelativeError;
using testing::Smaller;
using testing::SmallShapes;

using Op = void (*)(void*, const KdaRuleArgs&);

// fp32 against the recurrence in double precision. A row is a few chains of up to 128 fused multiply-adds (2^-24 each,
// adding up like sqrt(128) at random signs), and the state passes that on over the rows.
constexpr double kBound = 1e-5;

// One sequence from `position` on, in pieces; the last piece takes what is left.
KdaRuleResult RunOnGpu(Op op, const KdaRuleCase& c, Dim position, const std::vector<Dim>& pieces) {
  DeviceCopy device;
  const float* qkv = device.Put(c.qkv);
  const float* g = device.Put(c.g);
  const float* beta = device.Put(c.beta);
  float* state = device.Put(c.state);
  float* o = device.Poisoned<float>(c.rows * c.width());
  Dim done = 0;
  for (size_t i = 0; done < c.rows; ++i) {
    const Dim count = std::min(c.rows - done, i < pieces.size() ? pieces[i] : c.rows);
    const KdaSegment segment{0, count, position + done, nullptr, state};
    op(device.backend().stream, {.qkv = qkv + done * 3 * c.width(),
                                 .g = g + done * c.width(),
                                 .beta = beta + done * c.heads,
                                 .segments = &segment,
                                 .segment_count = 1,
                                 .heads = c.heads,
                                 .dim = c.dim,
                                 .o = o + done * c.width()});
    done += count;
  }
  return {device.Get(o, c.rows * c.width()), device.Get(state, static_cast<int64_t>(c.state.size()))};
}

void ExpectSame(const KdaRuleResult& a, const KdaRuleResult& b) {
  EXPECT_TRUE(SameBits(a.o, b.o));
  EXPECT_TRUE(SameBits(a.state, b.state));
}

Floats AsFloats(const Doubles& x) { return Floats(x.begin(), x.end()); }

void ExpectClose(const char* name, const KdaRuleCase& c, const KdaRuleResult& got, const KdaRuleExpected& want) {
  const double o = RelativeError(got.o, AsFloats(want.o)), state = RelativeError(got.state, AsFloats(want.state));
  std::printf("%s rows %lld heads %lld dim %lld: error of o %.2e, of the state %.2e\n", name,
              static_cast<long long>(c.rows), static_cast<long long>(c.heads), static_cast<long long>(c.dim), o, state);
  EXPECT_LE(o, kBound);
  EXPECT_LE(state, kBound);
}

struct Form {
  const char* name;
  Op op;
};
std::vector<Form> BothForms() {
  const Backend& ops = DeviceCopy::backend();
  return {{"kda_recurrent", ops.kda_recurrent}, {"kda_chunked", ops.kda_chunked}};
}

TEST(KdaRuleCuda, EqualsTheRecurrenceInDoublePrecision) {
  for (Gates gates : {Gates::kNearZero, Gates::kAtBound, Gates::kSpread, Gates::kSteep}) {
    if (SmallShapes() && gates != Gates::kSpread) continue;
    for (Dim rows : {1, 17, 63, 64, 65, 200}) {
      const KdaRuleCase c = MakeKdaRuleCase(rows, Smaller<Dim>(2, 1), 128, gates);
      const KdaRuleExpected want = EvaluateKdaRule(c);
      for (const Form& form : BothForms()) ExpectClose(form.name, c, RunOnGpu(form.op, c, 0, {}), want);
    }
  }
}

TEST(KdaRuleCuda, AnyHeadWidth) {
  for (Dim dim : {1, 3, 16, 17, 31, 64, 65, 100, 136, 256}) {
    const KdaRuleCase c = MakeKdaRuleCase(77, Smaller<Dim>(3, 1), dim, Gates::kSpread);
    const KdaRuleExpected want = EvaluateKdaRule(c);
    for (const Form& form : BothForms()) ExpectClose(form.name, c, RunOnGpu(form.op, c, 0, {}), want);
  }
}

TEST(KdaRuleCuda, CutsAtMultiplesOfABlockChangeNoBit) {
  const Backend& ops = DeviceCopy::backend();
  for (Gates gates : {Gates::kNearZero, Gates::kSpread}) {
    const KdaRuleCase c = MakeKdaRuleCase(Smaller<Dim>(300, 200), Smaller<Dim>(2, 1), 128, gates);
    const KdaRuleResult whole = RunOnGpu(ops.kda_chunked, c, 0, {});
    ExpectSame(whole, RunOnGpu(ops.kda_chunked, c, 0, {64}));
    ExpectSame(whole, RunOnGpu(ops.kda_chunked, c, 0, {64, 64, 64, 64}));
    ExpectSame(whole, RunOnGpu(ops.kda_chunked, c, 0, {128, 64}));
  }
  // From position 50 the first block has 14 rows.
  const KdaRuleCase c = MakeKdaRuleCase(150, 1, 24, Gates::kSpread);
  const KdaRuleResult whole = RunOnGpu(ops.kda_chunked, c, 50, {});
  ExpectSame(whole, RunOnGpu(ops.kda_chunked, c, 50, {14, 64}));
  ExpectClose("kda_chunked", c, whole, EvaluateKdaRule(c));
}

TEST(KdaRuleCuda, TheWalkMayBeCutAnywhere) {
  const Backend& ops = DeviceCopy::backend();
  const KdaRuleCase c = MakeKdaRuleCase(100, 2, 128, Gates::kSpread);
  ExpectSame(RunOnGpu(ops.kda_recurrent, c, 0, {}), RunOnGpu(ops.kda_recurrent, c, 0, {1, 7, 64}));
}

TEST(KdaRuleCuda, RowsDoNotDependOnLaterOnes) {
  const Backend& ops = DeviceCopy::backend();
  const KdaRuleCase c = MakeKdaRuleCase(128, Smaller<Dim>(2, 1), 128, Gates::kSpread);
  const KdaRuleResult whole = RunOnGpu(ops.kda_chunked, c, 0, {});
  for (Dim rows : {1, 5, 16, 63, 65, 100, 127}) {
    KdaRuleCase part = c;
    part.rows = rows;
    EXPECT_TRUE(SameBits(RunOnGpu(ops.kda_chunked, part, 0, {}).o, Rows(whole.o, c.width(), 0, rows))) << rows;
  }
}

// More blocks than one launch prepares, and more segments than one launch takes.
TEST(KdaRuleCuda, ManySegmentsDoNotMeet) {
  const Dim count = Smaller<Dim>(70, 8), heads = Smaller<Dim>(64, 4), longest = Smaller<Dim>(650, 130);
  constexpr Dim kDim = 16;
  for (const Form& form : BothForms()) {
    DeviceCopy device;
    KdaRuleCase all{0, heads, kDim, {}, {}, {}, {}};
    std::vector<KdaSegment> segments;
    std::vector<KdaRuleResult> alone;
    for (Dim i = 0; i < count; ++i) {
      const Dim rows = i == 3 ? longest : 1 + i % 5, position = i == 5 ? 63 : 64 * i;
      const KdaRuleCase c = MakeKdaRuleCase(rows, heads, kDim, Gates::kSpread, static_cast<uint64_t>(i));
      alone.push_back(RunOnGpu(form.op, c, position, {}));
      segments.push_back({all.rows, rows, position, nullptr, device.Put(c.state)});
      all.rows += rows;
      all.qkv.insert(all.qkv.end(), c.qkv.begin(), c.qkv.end());
      all.g.insert(all.g.end(), c.g.begin(), c.g.end());
      all.beta.insert(all.beta.end(), c.beta.begin(), c.beta.end());
    }
    float* o = device.Poisoned<float>(all.rows * all.width());
    form.op(device.backend().stream, {.qkv = device.Put(all.qkv),
                                      .g = device.Put(all.g),
                                      .beta = device.Put(all.beta),
                                      .segments = segments.data(),
                                      .segment_count = count,
                                      .heads = heads,
                                      .dim = kDim,
                                      .o = o});
    const Floats got = device.Get(o, all.rows * all.width());
    for (Dim i = 0; i < count; ++i) {
      EXPECT_TRUE(SameBits(Rows(got, all.width(), segments[i].row_begin, segments[i].row_count), alone[i].o)) << i;
      EXPECT_TRUE(SameBits(device.Get(segments[i].state, heads * kDim * kDim), alone[i].state)) << i;
    }
  }
}

TEST(KdaRuleCuda, RepeatsHaveTheSameBits) {
  const KdaRuleCase c = MakeKdaRuleCase(130, 4, 128, Gates::kSpread);
  for (const Form& form : BothForms()) {
    const KdaRuleResult first = RunOnGpu(form.op, c, 0, {});
    for (int i = 1; i < 100; ++i) ExpectSame(RunOnGpu(form.op, c, 0, {}), first);
  }
}

}  // namespace
}  // namespace hearth::kernels
