#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda_ops.h"
#include "kernels/kda/kda_segments.cuh"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr Dim kTile = 32;  // rows of one thread

// Raw value of a channel t rows after the segment's first; the history stands before it.
struct Line {
  const float* history;
  const float* raw;
  Dim channels, kept;

  __device__ float operator[](Dim t) const { return t < 0 ? history[(kept + t) * channels] : raw[t * channels]; }
};

__device__ Line LineOf(const ShortConvArgs& args, const KdaSegment& segment, Dim channel) {
  return {segment.history + channel, args.raw + segment.row_begin * args.channels + channel, args.channels,
          args.taps - 1};
}

// Row j of the new history lies after row j of the old one: ascending order never reads what it has written.
__device__ void KeepLastRows(const KdaSegment& segment, const Line& line, Dim channel) {
  for (Dim j = 0; j < line.kept; ++j) {
    segment.history[j * line.channels + channel] = line[segment.row_count - line.kept + j];
  }
}

// A thread has one channel of up to kTile rows. kTaps 0 takes the number from the arguments.
template <int kTaps>
__global__ void __launch_bounds__(kThreads)
    ShortConvKernel(const __grid_constant__ KdaSegmentList segments, ShortConvArgs args) {
  AwaitKernelsBefore();
  const KdaSegment& segment = segments.at[blockIdx.z];
  const Dim channel = static_cast<Dim>(blockIdx.x) * kThreads + threadIdx.x;
  const Dim begin = static_cast<Dim>(blockIdx.y) * kTile;
  if (channel >= args.channels || begin >= segment.row_count) return;
  const Dim end = begin + kTile < segment.row_count ? begin + kTile : segment.row_count;
  const Line line = LineOf(args, segment, channel);
  float* out = args.out + segment.row_begin * args.channels + channel;

  if constexpr (kTaps > 0) {
    float weight[kTaps], window[kTaps];
#pragma unroll
    for (int j = 0; j < kTaps; ++j) weight[j] = args.weight[channel * kTaps + j];
#pragma unroll
    for (int j = 0; j + 1 < kTaps; ++j) window[j + 1] = line[begin - (kTaps - 1) + j];
#pragma unroll 8
    for (Dim t = begin; t < end; ++t) {
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j + 1 < kTaps; ++j) window[j] = window[j + 1];
      window[kTaps - 1] = line[t];
#pragma unroll
      for (int j = 0; j < kTaps; ++j) sum = fmaf(weight[j], window[j], sum);
      out[t * args.channels] = sum * DeviceSigmoid(sum);
    }
  } else {
    for (Dim t = begin; t < end; ++t) {
      float sum = 0.0f;
      for (Dim j = 0; j < args.taps; ++j) {
        sum = fmaf(args.weight[channel * args.taps + j], line[t - (args.taps - 1) + j], sum);
      }
      out[t * args.channels] = sum * DeviceSigmoid(sum);
    }
  }
  // With one tile nobody else reads the history; otherwise it changes in a launch of its own.
  if (segment.row_count <= kTile) KeepLastRows(segment, line, channel);
}

__global__ void __launch_bounds__(kThreads)
    KeepHistoryKernel(const __grid_constant__ KdaSegmentList segments, ShortConvArgs args) {
  const KdaSegment& segment = segments.at[blockIdx.y];
  const Dim channel = static_cast<Dim>(blockIdx.x) * kThreads + threadIdx.x;
  if (channel >= args.channels || segment.row_count <= kTile) return;
  KeepLastRows(segment, LineOf(args, segment, channel), channel);
}

}  // namespace

void ShortConv(void* stream, const ShortConvArgs& args) {
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  const unsigned across = static_cast<unsigned>((args.channels + kThreads - 1) / kThreads);
  ForSegmentLists(args.segments, args.segment_count, [&](const KdaSegmentList& list, int count, Dim longest) {
    const dim3 grid(across, static_cast<unsigned>((longest + kTile - 1) / kTile), count);
    LaunchEarly("short_conv", args.taps == 4 ? ShortConvKernel<4> : ShortConvKernel<0>, grid, kThreads, 0, on, list,
                args);
    if (longest > kTile) {
      KeepHistoryKernel<<<dim3(across, count), kThreads, 0, on>>>(list, args);
      LaunchedOrDie("short_conv, history");
    }
  });
}

}  // namespace hearth::kernels::cuda
