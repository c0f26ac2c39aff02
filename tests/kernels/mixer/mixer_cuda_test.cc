#include <cstdio>

#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::RelativeError;

// Elementwise ops and norms: a few roundings of 2^-24 and one sum of squares, which is far closer than the reference's.
constexpr double kBound = 2e-6;

// The reference adds hc * hidden terms one by one: its own error, about 2^-24 times the root of their number, is the
// larger part, and it passes through an exponential whose input is a few units large.
double MixBound(Dim hc, Dim hidden) { return 1e-6 * (1 + 0.1 * std::sqrt(static_cast<double>(hc * hidden))); }

void Check(const std::string& what, const Floats& got, const Floats& want, double bound) {
  const double error = RelativeError(got, want);
  std::printf("%s: error %.2e\n", what.c_str(), error);
  EXPECT_LE(error, bound) << what;
}
std::string Shape(Dim rows, Dim hc, Dim hidden) {
  return " rows " + std::to_string(rows) + " streams " + std::to_string(hc) + " hidden " + std::to_string(hidden);
}

struct MixCase {
  Dim rows, hc, hidden;
  Floats streams, fn, base, scale, norm_weight;
  int iterations = 20;
};
struct Mixed {
  Floats x, post, comb;
};

MixCase MakeMixCase(Dim rows, Dim hc, Dim hidden) {
  Numbers n(static_cast<uint64_t>(rows + 100 * hc + 10000 * hidden));
  const Dim products = 2 * hc + hc * hc, width = hc * hidden;
  MixCase c{rows, hc, hidden, n.Some(rows * width, 2.0), {}, {}, {}, {}};
  c.fn = n.Some(products * width, 3.0 / std::sqrt(static_cast<double>(width)));
  c.base = n.Some(products);
  c.scale = n.Some(3, 0.5, 1.0);
  c.norm_weight = n.Some(hidden, 0.5, 1.0);
  return c;
}
HcMixArgs MixArgs(const MixCase& c, Dim rows) {
  HcMixArgs args;
  args.rows = rows;
  args.hc = c.hc;
  args.hidden = c.hidden;
  args.rms_eps = 1e-5f;
  args.hc_eps = 1e-6f;
  args.iterations = c.iterations;
  return args;
}

Mixed OnGpu(const MixCase& c, Dim first, Dim rows) {
  DeviceCopy device;
  HcMixArgs args = MixArgs(c, rows);
  args.streams = device.Put(Rows(c.streams, c.hc * c.hidden, first, rows));
  args.fn = device.Put(c.fn);
  args.base = device.Put(c.base);
  args.scale = device.Put(c.scale);
  args.norm_weight = device.Put(c.norm_weight);
  args.x = device.Poisoned<float>(rows * c.hidden);
  args.post = device.Poisoned<float>(rows * c.hc);
  args.comb = device.Poisoned<float>(rows * c.hc * c.hc);
  device.backend().hc_mix(device.backend().stream, args);
  return {device.Get(args.x, rows * c.hidden), device.Get(args.post, rows * c.hc),
          device.Get(args.comb, rows * c.hc * c.hc)};
}
Mixed OnHost(const MixCase& c) {
  Mixed out{Poisoned(c.rows * c.hidden), Poisoned(c.rows * c.hc), Poisoned(c.rows * c.hc * c.hc)};
  HcMixArgs args = MixArgs(c, c.rows);
  args.streams = c.streams.data();
  args.fn = c.fn.data();
  args.base = c.base.data();
  args.scale = c.scale.data();
  args.norm_weight = c.norm_weight.data();
  args.x = out.x.data();
  args.post = out.post.data();
  args.comb = out.comb.data();
  RefBackend().hc_mix(nullptr, args);
  return out;
}

void ExpectRow(const MixCase& c, const Mixed& all, Dim row) {
  const Mixed one = OnGpu(c, row, 1);
  EXPECT_TRUE(SameBits(one.x, Rows(all.x, c.hidden, row, 1))) << row;
  EXPECT_TRUE(SameBits(one.post, Rows(all.post, c.hc, row, 1))) << row;
  EXPECT_TRUE(SameBits(one.comb, Rows(all.comb, c.hc * c.hc, row, 1))) << row;
}

TEST(HcMixCuda, EqualsTheReferenceAndRowsDoNotMeet) {
  struct Size {
    Dim rows, hc, hidden;
  };
  // Up to 16 rows take another kernel than more rows.
  for (const Size& s :
       {Size{1, 4, 4096}, Size{16, 4, 4096}, Size{17, 4, 4096}, Size{3, 1, 7}, Size{150, 2, 61}, Size{20, 3, 1000},
        Size{150, 4, 13}, Size{5, 5, 256}, Size{21, 5, 257}, Size{18, 6, 40}, Size{2, 16, 3}, Size{2, 2, 9000}}) {
    const MixCase c = MakeMixCase(s.rows, s.hc, s.hidden);
    const Mixed got = OnGpu(c, 0, s.rows), want = OnHost(c);
    const std::string shape = Shape(s.rows, s.hc, s.hidden);
    const double bound = MixBound(s.hc, s.hidden);
    Check("hc_mix x" + shape, got.x, want.x, bound);
    Check("hc_mix post" + shape, got.post, want.post, bound);
    Check("hc_mix comb" + shape, got.comb, want.comb, bound);
    for (Dim row : {Dim{0}, s.rows / 2, s.rows - 1}) ExpectRow(c, got, row);
  }
}

TEST(HcMixCuda, OtherIterations) {
  for (int iterations : {0, 1, 3}) {
    MixCase c = MakeMixCase(3, 4, 64);
    c.iterations = iterations;
    Check("hc_mix comb, iterations " + std::to_string(iterations), OnGpu(c, 0, 3).comb, OnHost(c).comb,
          MixBound(4, 64));
  }
}

TEST(HcMixCuda, RepeatsHaveTheSameBits) {
  for (Dim rows : {2, 300}) {
    const MixCase c = MakeMixCase(rows, 4, 512);
    const Mixed first = OnGpu(c, 0, rows);
    for (int i = 1; i < 100; ++i) {
      const Mixed again = OnGpu(c, 0, rows);
      EXPECT_TRUE(SameBits(again.x, first.x));
      EXPECT_TRUE(SameBits(again.post, first.post));
      EXPECT_TRUE(SameBits(again.comb, first.comb));
    }
  }
}

TEST(HcSpreadCuda, EqualsTheReference) {
  for (Dim hc : {1, 3, 4, 5, 16}) {
    for (Dim hidden : {1, 61, 256, 4096}) {
      constexpr Dim kRows = 7;
      Numbers n(static_cast<uint64_t>(hc * 10000 + hidden));
      const Dim width = hc * hidden;
      Floats streams = n.Some(kRows * width, 2.0);
      const Floats y = n.Some(kRows * hidden), post = n.Some(kRows * hc), comb = n.Some(kRows * hc * hc);
      DeviceCopy device;
      const Backend& ops = device.backend();
      float *all = device.Put(streams), *last = device.Put(Rows(streams, width, kRows - 1, 1));
      const float *y_at = device.Put(y), *post_at = device.Put(post), *comb_at = device.Put(comb);
      ops.hc_spread(ops.stream, {all, y_at, post_at, comb_at, kRows, hc, hidden});
      ops.hc_spread(ops.stream, {last, y_at + (kRows - 1) * hidden, post_at + (kRows - 1) * hc,
                                 comb_at + (kRows - 1) * hc * hc, 1, hc, hidden});
      RefBackend().hc_spread(nullptr, {streams.data(), y.data(), post.data(), comb.data(), kRows, hc, hidden});
      const Floats got = device.Get(all, kRows * width);
      Check("hc_spread" + Shape(kRows, hc, hidden), got, streams, kBound);
      EXPECT_TRUE(SameBits(device.Get(last, width), Rows(got, width, kRows - 1, 1)));
    }
  }
}

TEST(HeadNormCuda, EqualsTheReference) {
  for (Dim hc : {1, 3, 4}) {
    for (Dim hidden : {1, 61, 1024, 4096}) {
      constexpr Dim kRows = 5;
      Numbers n(static_cast<uint64_t>(hc * 10000 + hidden));
      const Floats streams = n.Some(kRows * hc * hidden, 0.01), weight = n.Some(hidden, 0.5, 1.0);
      Floats want = Poisoned(kRows * hidden);
      RefBackend().head_norm(nullptr, {streams.data(), weight.data(), kRows, hc, hidden, 1e-5f, want.data()});
      DeviceCopy device;
      const Backend& ops = device.backend();
      float *out = device.Poisoned<float>(kRows * hidden), *last = device.Poisoned<float>(hidden);
      const float *in = device.Put(streams), *w = device.Put(weight);
      ops.head_norm(ops.stream, {in, w, kRows, hc, hidden, 1e-5f, out});
      ops.head_norm(ops.stream, {in + (kRows - 1) * hc * hidden, w, 1, hc, hidden, 1e-5f, last});
      const Floats got = device.Get(out, kRows * hidden);
      Check("head_norm" + Shape(kRows, hc, hidden), got, want, kBound);
      EXPECT_TRUE(SameBits(device.Get(last, hidden), Rows(got, hidden, kRows - 1, 1)));
    }
  }
}

TEST(RmsNormCuda, EqualsTheReferenceInPlaceToo) {
  for (Dim dim : {1, 7, 61, 512, 1536, 4096, 5001}) {
    constexpr Dim kRows = 6;
    Numbers n(static_cast<uint64_t>(dim));
    const Floats x = n.Some(kRows * dim, 0.01), weight = n.Some(dim, 0.5, 1.0);
    Floats want = Poisoned(kRows * dim);
    RefBackend().rms_norm(nullptr, {x.data(), weight.data(), kRows, dim, 1e-5f, want.data()});
    DeviceCopy device;
    const Backend& ops = device.backend();
    float *in = device.Put(x), *out = device.Poisoned<float>(kRows * dim), *last = device.Put(Rows(x, dim, 5, 1));
    const float* w = device.Put(weight);
    ops.rms_norm(ops.stream, {in, w, kRows, dim, 1e-5f, out});
    ops.rms_norm(ops.stream, {in, w, kRows, dim, 1e-5f, in});
    ops.rms_norm(ops.stream, {last, w, 1, dim, 1e-5f, last});
    const Floats got = device.Get(out, kRows * dim);
    Check("rms_norm rows 6 dim " + std::to_string(dim), got, want, kBound);
    EXPECT_TRUE(SameBits(device.Get(in, kRows * dim), got));
    EXPECT_TRUE(SameBits(device.Get(last, dim), Rows(got, dim, 5, 1)));
  }
}

}  // namespace
}  // namespace hearth::kernels
