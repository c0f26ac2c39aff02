#include <cstdio>

#include "tests/kernels/cuda/device_copy.h"
#include "tests/kernels/cuda/small_shapes.h"
#include "tests/kernels/support/op_test.h"

namespace hearth::kernels {
namespace {

using testing::DeviceCopy;
using testing::RelativeError;

// The ops before and after the delta rule, against the reference. A value is one sum of at most 256 squares or 7
// products and a handful of roundings of 2^-24; exp is within 2 units.
constexpr double kBound = 1e-6;

void Check(const char* name, const std::string& shape, const Floats& got, const Floats& want) {
  const double error = RelativeError(got, want);
  std::printf("%s %s: error %.2e\n", name, shape.c_str(), error);
  EXPECT_LE(error, kBound) << name << " " << shape;
}
std::string Shape(Dim rows, Dim heads, Dim dim) {
  return "rows " + std::to_string(rows) + " heads " + std::to_string(heads) + " dim " + std::to_string(dim);
}

struct Prepared {
  Floats qkv, g, beta;
};
struct PrepareCase {
  Dim rows, heads, dim;
  Floats qkv, f, b, a_log, dt_bias;

  Dim width() const { return heads * dim; }
  KdaPrepareArgs Args() const {
    KdaPrepareArgs args;
    args.lower_bound = -5.0f;
    args.rows = rows;
    args.heads = heads;
    args.dim = dim;
    return args;
  }
};

PrepareCase MakePrepareCase(Dim rows, Dim heads, Dim dim) {
  Numbers n(static_cast<uint64_t>(rows + 100 * heads + 1000 * dim));
  PrepareCase c{rows, heads, dim, n.Some(rows * 3 * heads * dim), n.Some(rows * heads * dim, 3.0), {}, {}, {}};
  c.b = n.Some(rows * heads, 6.0);
  c.a_log = n.Some(heads);
  c.dt_bias = n.Some(heads * dim, 2.0);
  return c;
}

Prepared OnGpu(const PrepareCase& c, Dim first, Dim rows) {
  DeviceCopy device;
  KdaPrepareArgs args = c.Args();
  args.rows = rows;
  float* qkv = device.Put(Rows(c.qkv, 3 * c.width(), first, rows));
  float* g = device.Poisoned<float>(rows * c.width());
  float* beta = device.Poisoned<float>(rows * c.heads);
  args.qkv = qkv;
  args.f = device.Put(Rows(c.f, c.width(), first, rows));
  args.b = device.Put(Rows(c.b, c.heads, first, rows));
  args.a_log = device.Put(c.a_log);
  args.dt_bias = device.Put(c.dt_bias);
  args.g = g;
  args.beta = beta;
  device.backend().kda_prepare(device.backend().stream, args);
  return {device.Get(qkv, rows * 3 * c.width()), device.Get(g, rows * c.width()), device.Get(beta, rows * c.heads)};
}

Prepared OnHost(const PrepareCase& c) {
  Prepared out{c.qkv, Poisoned(c.rows * c.width()), Poisoned(c.rows * c.heads)};
  KdaPrepareArgs args = c.Args();
  args.qkv = out.qkv.data();
  args.f = c.f.data();
  args.b = c.b.data();
  args.a_log = c.a_log.data();
  args.dt_bias = c.dt_bias.data();
  args.g = out.g.data();
  args.beta = out.beta.data();
  RefBackend().kda_prepare(nullptr, args);
  return out;
}

TEST(KdaPrepareCuda, EqualsTheReference) {
  for (Dim dim : {1, 5, 16, 33, 128, 256}) {
    const PrepareCase c = MakePrepareCase(9, 3, dim);
    const Prepared got = OnGpu(c, 0, 9), want = OnHost(c);
    const std::string shape = Shape(9, 3, dim);
    Check("kda_prepare qkv", shape, got.qkv, want.qkv);
    Check("kda_prepare g", shape, got.g, want.g);
    Check("kda_prepare beta", shape, got.beta, want.beta);
    const Prepared one = OnGpu(c, 5, 1);
    EXPECT_TRUE(SameBits(one.qkv, Rows(got.qkv, 3 * c.width(), 5, 1)));
    EXPECT_TRUE(SameBits(one.g, Rows(got.g, c.width(), 5, 1)));
    EXPECT_TRUE(SameBits(one.beta, Rows(got.beta, c.heads, 5, 1)));
  }
}

TEST(KdaOutputCuda, EqualsTheReferenceInPlaceToo) {
  constexpr Dim kRows = 9, kHeads = 3;
  for (Dim dim : {1, 6, 27, 128, 256}) {
    Numbers n(static_cast<uint64_t>(dim));
    const Dim count = kRows * kHeads * dim;
    const Floats o = n.Some(count, 1e-3), gate = n.Some(count, 5.0), weight = n.Some(dim, 0.5, 1.0);
    Floats want = Poisoned(count);
    RefBackend().kda_output(nullptr, {o.data(), gate.data(), weight.data(), 1e-5f, kRows, kHeads, dim, want.data()});
    DeviceCopy device;
    float *in = device.Put(o), *out = device.Poisoned<float>(count);
    const float *w = device.Put(weight), *g = device.Put(gate);
    const Backend& ops = device.backend();
    ops.kda_output(ops.stream, {in, g, w, 1e-5f, kRows, kHeads, dim, out});
    const Floats got = device.Get(out, count);
    Check("kda_output", Shape(kRows, kHeads, dim), got, want);
    ops.kda_output(ops.stream, {in, g, w, 1e-5f, kRows, kHeads, dim, in});
    EXPECT_TRUE(SameBits(device.Get(in, count), got));
    float* last = device.Put(Rows(o, kHeads * dim, kRows - 1, 1));
    ops.kda_output(ops.stream, {last, g + (kRows - 1) * kHeads * dim, w, 1e-5f, 1, kHeads, dim, last});
    EXPECT_TRUE(SameBits(device.Get(last, kHeads * dim), Rows(got, kHeads * dim, kRows - 1, 1)));
  }
}

struct Convolved {
  Floats out, history;
};
struct ConvCase {
  Dim rows, channels, taps;
  Floats raw, weight, history;
};
ConvCase MakeConvCase(Dim rows, Dim channels, Dim taps) {
  Numbers n(static_cast<uint64_t>(rows * 1000 + channels * 10 + taps));
  return {rows,
          channels,
          taps,
          n.Some(rows * channels, 4.0),
          n.Some(channels * taps, 1.5),
          n.Some((taps - 1) * channels, 4.0)};
}

Convolved OnGpu(const ConvCase& c, const std::vector<Dim>& pieces) {
  DeviceCopy device;
  const float *raw = device.Put(c.raw), *weight = device.Put(c.weight);
  float *history = device.Put(c.history), *out = device.Poisoned<float>(c.rows * c.channels);
  Dim done = 0;
  for (size_t i = 0; done < c.rows; ++i) {
    const Dim count = std::min(c.rows - done, i < pieces.size() ? pieces[i] : c.rows);
    const KdaSegment segment{0, count, done, history, nullptr};
    device.backend().short_conv(device.backend().stream, {raw + done * c.channels, weight, &segment, 1, c.channels,
                                                          c.taps, out + done * c.channels});
    done += count;
  }
  return {device.Get(out, c.rows * c.channels), device.Get(history, static_cast<int64_t>(c.history.size()))};
}

TEST(ShortConvCuda, EqualsTheReferenceAndAnyCutHasTheSameBits) {
  for (Dim taps : {1, 2, 4, 7}) {
    for (Dim channels : {1, 63, 200}) {
      for (Dim rows : {1, 2, 5, 33, 140}) {
        const ConvCase c = MakeConvCase(rows, channels, taps);
        Floats history = c.history, want = Poisoned(rows * channels);
        const KdaSegment segment{0, rows, 0, history.data(), nullptr};
        RefBackend().short_conv(nullptr, {c.raw.data(), c.weight.data(), &segment, 1, channels, taps, want.data()});
        const Convolved whole = OnGpu(c, {});
        Check(
            "short_conv",
            "rows " + std::to_string(rows) + " channels " + std::to_string(channels) + " taps " + std::to_string(taps),
            whole.out, want);
        EXPECT_TRUE(SameBits(whole.history, history));
        if (testing::SmallShapes() && rows == 140 && taps != 4) continue;
        for (const std::vector<Dim>& pieces : {std::vector<Dim>{1}, {2, 1}, {64, 65}, std::vector<Dim>(20, 1)}) {
          const Convolved cut = OnGpu(c, pieces);
          EXPECT_TRUE(SameBits(cut.out, whole.out));
          EXPECT_TRUE(SameBits(cut.history, whole.history));
        }
      }
    }
  }
}

TEST(ShortConvCuda, ManySegmentsDoNotMeet) {
  const Dim count = testing::Smaller<Dim>(70, 8);
  constexpr Dim kChannels = 70, kTaps = 4;
  DeviceCopy device;
  const ConvCase first = MakeConvCase(1, kChannels, kTaps);
  std::vector<KdaSegment> segments;
  std::vector<Convolved> alone;
  Floats raw;
  Dim rows = 0;
  for (Dim i = 0; i < count; ++i) {
    ConvCase c = MakeConvCase(i == 2 ? 100 : 1 + i % 4, kChannels, kTaps);
    c.weight = first.weight;
    alone.push_back(OnGpu(c, {}));
    segments.push_back({rows, c.rows, 0, device.Put(c.history), nullptr});
    raw.insert(raw.end(), c.raw.begin(), c.raw.end());
    rows += c.rows;
  }
  float* out = device.Poisoned<float>(rows * kChannels);
  device.backend().short_conv(device.backend().stream, {device.Put(raw), device.Put(first.weight), segments.data(),
                                                        count, kChannels, kTaps, out});
  const Floats got = device.Get(out, rows * kChannels);
  for (Dim i = 0; i < count; ++i) {
    EXPECT_TRUE(SameBits(Rows(got, kChannels, segments[i].row_begin, segments[i].row_count), alone[i].out)) << i;
    EXPECT_TRUE(SameBits(device.Get(segments[i].history, (kTaps - 1) * kChannels), alone[i].history)) << i;
  }
}

TEST(KdaRowsCuda, RepeatsHaveTheSameBits) {
  const PrepareCase c = MakePrepareCase(40, 8, 128);
  const Prepared first = OnGpu(c, 0, 40);
  const ConvCase conv = MakeConvCase(100, 500, 4);
  const Convolved convolved = OnGpu(conv, {});
  for (int i = 1; i < 100; ++i) {
    const Prepared again = OnGpu(c, 0, 40);
    EXPECT_TRUE(SameBits(again.qkv, first.qkv));
    EXPECT_TRUE(SameBits(again.g, first.g));
    const Convolved again_convolved = OnGpu(conv, {});
    EXPECT_TRUE(SameBits(again_convolved.out, convolved.out));
    EXPECT_TRUE(SameBits(again_convolved.history, convolved.history));
  }
}

}  // namespace
}  // namespace hearth::kernels
