#include <cstring>

#include "common/base/check.h"
#include "kernels/kda/kda.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kStrip = 64;  // channels of one task
constexpr Dim kMaxTaps = kMaxConvTaps;

// `count` channels from `first` of one segment.
void ConvStrip(const ShortConvArgs& args, const KdaSegment& segment, Dim first, Dim count) {
  const Dim channels = args.channels, taps = args.taps, kept = taps - 1;
  alignas(32) float weight[kMaxTaps][kStrip];
  for (Dim c = 0; c < count; ++c) {
    for (Dim j = 0; j < taps; ++j) weight[j][c] = args.weight[(first + c) * taps + j];
  }
  const float* raw = args.raw + segment.row_begin * channels + first;
  float* out = args.out + segment.row_begin * channels + first;
  float* history = segment.history + first;
  // Row t of the history followed by the new rows.
  const auto line = [&](Dim t) -> const float* {
    return t < kept ? history + t * channels : raw + (t - kept) * channels;
  };
  for (Dim t = 0; t < segment.row_count; ++t) {
    const float* rows[kMaxTaps];
    for (Dim j = 0; j < taps; ++j) rows[j] = line(t + j);
    for (Dim c = 0; c < count; c += kLanes) {
      __m256 sum = _mm256_setzero_ps();
      for (Dim j = 0; j < taps; ++j) {
        sum = _mm256_fmadd_ps(_mm256_loadu_ps(weight[j] + c), LoadFirst(rows[j] + c, count - c), sum);
      }
      StoreFirst(out + t * channels + c, count - c, Silu8(sum));
    }
  }
  for (Dim j = 0; j < kept; ++j) {  // upwards: a kept row only ever moves to an older place
    std::memmove(history + j * channels, line(segment.row_count + j), static_cast<size_t>(count) * sizeof(float));
  }
}

}  // namespace

void ShortConv(void*, const ShortConvArgs& args) {
  HEARTH_CHECK(args.taps > 0 && args.taps <= kMaxTaps, "taps of the short convolution");
  const Dim strips = (args.channels + kStrip - 1) / kStrip;
  const Dim rows = LongestSegment(args.segments, args.segment_count);
  ParallelFor(args.segment_count * strips, GrainFor((rows + 4) * kStrip * (args.taps + 16)), [&](Dim task) {
    const Dim first = task % strips * kStrip;
    const Dim left = args.channels - first;
    ConvStrip(args, args.segments[task / strips], first, left < kStrip ? left : kStrip);
  });
}

}  // namespace hearth::kernels::avx2
