#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "bench/kernels/cuda_op_timing.h"

// Speed of mixer, norms and KDA on the GPU at the real model's shapes: median of 25 calls between CUDA events. Inputs
// rotate through copies that together exceed the cache, as consecutive layers do. The share is of a device copy
// measured in the same run; `bytes` are what an op must read and write at least.
//   graph_ops_cuda_bench [rows ...]      default: 1 8 8192

namespace {

using hearth::bench::kRepeats;
using hearth::bench::MeasureCopyRate;
using hearth::bench::Median;
using hearth::bench::Stream;
using hearth::kernels::Backend;
using hearth::kernels::CudaBackend;
using hearth::kernels::CudaOrDie;
using hearth::kernels::DeviceArray;
using hearth::kernels::Dim;

constexpr Dim kHidden = 4096, kStreams = 4, kHeads = 64, kHeadDim = 128, kTaps = 4, kWidth = kHeads * kHeadDim;
constexpr Dim kProducts = 2 * kStreams + kStreams * kStreams;

// `count` floats of small values.
class Values : public hearth::bench::Values<float> {
 public:
  explicit Values(Dim count, float low = -1.0f, float high = 1.0f)
      : hearth::bench::Values<float>(count, [low, high, state = uint32_t{1}](Dim) mutable {
          state = state * 1664525u + 1013904223u;
          return low + (high - low) * static_cast<float>(state >> 8) * 0x1p-24f;
        }) {}
};

double g_copy_rate = 0;  // bytes read and written per microsecond

void MeasureCopy() {
  g_copy_rate = MeasureCopyRate();
  std::printf("%-14s %38s %8.1f GB/s\n", "device copy", "256 MiB", g_copy_rate * 1e-3);
}

void Report(const char* op, const std::string& shape, Dim rows, double bytes, double flops,
            const std::function<void(Dim)>& call) {
  const double us = Median(call);
  std::printf("%-14s %-26s rows %6lld %9.1f us  %9.2f MB  %8.1f GB/s  %5.1f %% of copy", op, shape.c_str(),
              static_cast<long long>(rows), us, bytes * 1e-6, bytes / us * 1e-3, 100.0 * bytes / us / g_copy_rate);
  if (flops > 0) std::printf("  %6.2f TFLOP/s", flops / us * 1e-6);
  std::printf("\n");
  std::fflush(stdout);
}

double Floats(Dim count) { return static_cast<double>(count) * sizeof(float); }

void BenchMixer(Dim rows) {
  const Backend& ops = CudaBackend();
  const Dim width = kStreams * kHidden;
  const Values streams(rows * width), fn(kProducts * width, -0.02f, 0.02f), base(kProducts), scale(3), weight(kHidden);
  const Values x(rows * kHidden), post(rows * kStreams, 0, 1), comb(rows * kStreams * kStreams, 0, 0.25f);
  const std::string shape = "4 x 4096";
  Report("hc_mix", shape, rows, Floats(rows * (width + kHidden) + kProducts * width),
         2.0 * static_cast<double>(rows * width * kProducts), [&](Dim i) {
           ops.hc_mix(ops.stream, {.streams = streams.At(i),
                                   .fn = fn.At(i),
                                   .base = base.At(0),
                                   .scale = scale.At(0),
                                   .norm_weight = weight.At(0),
                                   .rows = rows,
                                   .hc = kStreams,
                                   .hidden = kHidden,
                                   .rms_eps = 1e-5f,
                                   .hc_eps = 1e-6f,
                                   .iterations = 20,
                                   .x = x.At(i),
                                   .post = post.At(i),
                                   .comb = comb.At(i)});
         });
  const Values soft(rows * kStreams * kStreams, 0.2f, 0.25f);
  Report("hc_spread", shape, rows, Floats(rows * (2 * width + kHidden)), 0, [&](Dim i) {
    ops.hc_spread(ops.stream, {streams.At(i), x.At(i), post.At(0), soft.At(0), rows, kStreams, kHidden});
  });
  Report("head_norm", shape, rows, Floats(rows * (width + kHidden)), 0, [&](Dim i) {
    ops.head_norm(ops.stream, {streams.At(i), weight.At(0), rows, kStreams, kHidden, 1e-5f, x.At(i)});
  });
  for (Dim dim : {Dim{512}, Dim{1536}, kHidden}) {
    Report("rms_norm", std::to_string(dim), rows, Floats(2 * rows * dim), 0, [&](Dim i) {
      ops.rms_norm(ops.stream, {x.At(i), weight.At(0), rows, dim, 1e-5f, x.At(i)});
    });
  }
}

void BenchKda(Dim rows) {
  const Backend& ops = CudaBackend();
  const Dim channels = 3 * kWidth;
  const bool decode = rows <= 64;
  const Values raw(rows * channels), qkv(rows * channels), weight(channels * kTaps), gate(rows * kWidth);
  const Values heads(rows * kHeads), a_log(kHeads), bias(kWidth), norm(kHeadDim);
  const Values g(rows * kWidth, -0.5f, 0.0f), beta(rows * kHeads, 0.0f, 1.0f), o(rows * kWidth);
  const Dim sequences = decode ? rows : 1, state_floats = kHeads * kHeadDim * kHeadDim;
  const Dim history_floats = (kTaps - 1) * channels;
  const Values history(sequences * history_floats), state(sequences * state_floats, -0.01f, 0.01f);
  const auto segments = [&](Dim i) {
    std::vector<hearth::kernels::KdaSegment> list;
    for (Dim s = 0; s < sequences; ++s) {
      list.push_back({s, decode ? 1 : rows, 0, history.At(i) + s * history_floats, state.At(i) + s * state_floats});
    }
    return list;
  };
  const std::string shape = "64 heads of 128";
  Report("short_conv", shape, rows, Floats(2 * rows * channels + channels * kTaps + 2 * sequences * history_floats), 0,
         [&](Dim i) {
           const auto list = segments(i);
           ops.short_conv(ops.stream, {raw.At(i), weight.At(i), list.data(), sequences, channels, kTaps, qkv.At(i)});
         });
  Report("kda_prepare", shape, rows, Floats(rows * (4 * kWidth + 2 * kWidth)), 0, [&](Dim i) {
    ops.kda_prepare(ops.stream, {.qkv = qkv.At(i),
                                 .f = gate.At(i),
                                 .b = heads.At(0),
                                 .a_log = a_log.At(0),
                                 .dt_bias = bias.At(0),
                                 .lower_bound = -5.0f,
                                 .rows = rows,
                                 .heads = kHeads,
                                 .dim = kHeadDim,
                                 .g = o.At(i),
                                 .beta = beta.At(0)});
  });
  // 8.4 and 8.6 of the model's description: 4 products of dim x dim a token, or 11.5 MFLOP a block and head.
  const double products = decode ? 8.0 * kHeadDim * kHeadDim : 11.5e6 / 64;
  Report(decode ? "kda_recurrent" : "kda_chunked", shape, rows,
         Floats(rows * 5 * kWidth + 2 * sequences * state_floats), products * static_cast<double>(rows * kHeads),
         [&](Dim i) {
           const auto list = segments(i);
           (decode ? ops.kda_recurrent : ops.kda_chunked)(
               ops.stream, {qkv.At(i), g.At(i), beta.At(i), list.data(), sequences, kHeads, kHeadDim, o.At(i)});
         });
  Report("kda_output", shape, rows, Floats(3 * rows * kWidth), 0, [&](Dim i) {
    ops.kda_output(ops.stream, {o.At(i), gate.At(i), norm.At(0), 1e-5f, rows, kHeads, kHeadDim, o.At(i)});
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string problem = hearth::kernels::CudaProblem(); !problem.empty()) {
    std::fprintf(stderr, "graph_ops_cuda_bench: %s\n", problem.c_str());
    return 1;
  }
  std::vector<Dim> all_rows;
  for (int i = 1; i < argc; ++i) all_rows.push_back(std::max(1, std::atoi(argv[i])));
  if (all_rows.empty()) all_rows = {1, 8, 8192};
  std::printf("%s, median of %d\n", hearth::kernels::DescribeCudaDevice().name.c_str(), kRepeats);
  MeasureCopy();
  for (Dim rows : all_rows) {
    BenchMixer(rows);
    BenchKda(rows);
  }
  return 0;
}
