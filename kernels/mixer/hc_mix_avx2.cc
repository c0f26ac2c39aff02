#include "common/base/check.h"
#include "kernels/mixer/hc_weights_avx2.h"
#include "kernels/mixer/mixer.h"
#include "kernels/norm/scale_row_avx2.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_dots.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kMaxProducts = 2 * kMaxStreams + kMaxStreams * kMaxStreams;

// x = RMSNorm(sum_s pre[s] * v[s]); pre has one entry every eight floats.
void Collapse(const HcMixArgs& args, const float* v, const float* pre, float* x) {
  const Dim hidden = args.hidden;
  for (Dim d = 0; d < hidden; d += kLanes) {
    __m256 sum = _mm256_setzero_ps();
    for (Dim s = 0; s < args.hc; ++s) {
      sum = _mm256_fmadd_ps(_mm256_set1_ps(pre[s * kLanes]), LoadFirst(v + s * hidden + d, hidden - d), sum);
    }
    StoreFirst(x + d, hidden - d, sum);
  }
  ScaleRow(x, InverseRms(x, hidden, args.rms_eps), args.norm_weight, hidden, x);
}

// Up to eight rows, each in its own lane of the small matrices.
void MixRows(const HcMixArgs& args, Dim first, Dim rows) {
  const Dim hc = args.hc, width = hc * args.hidden, products = 2 * hc + hc * hc;
  alignas(32) float m[kMaxProducts * kLanes] = {};
  alignas(32) float pre[kMaxStreams * kLanes], post[kMaxStreams * kLanes], comb[kMaxStreams * kMaxStreams * kLanes];
  const float* v = args.streams + first * width;
  DotRows(v, width, rows, args.fn, products, width, m, 1, kLanes);
  for (Dim r = 0; r < rows; ++r) {
    const float scale = InverseRms(v + r * width, width, args.rms_eps);
    for (Dim k = 0; k < products; ++k) m[k * kLanes + r] *= scale;
  }
  HcWeights8({args.base, args.scale, hc, args.hc_eps, args.iterations}, m, pre, post, comb);
  for (Dim r = 0; r < rows; ++r) {
    const Dim row = first + r;
    for (Dim j = 0; j < hc; ++j) args.post[row * hc + j] = post[j * kLanes + r];
    for (Dim k = 0; k < hc * hc; ++k) args.comb[row * hc * hc + k] = comb[k * kLanes + r];
    Collapse(args, v + r * width, pre + r, args.x + row * args.hidden);
  }
}

}  // namespace

void HcMix(void*, const HcMixArgs& args) {
  HEARTH_CHECK(args.hc > 0 && args.hc <= kMaxStreams, "number of residual streams");
  ParallelFor((args.rows + kLanes - 1) / kLanes, [&](Dim tile) {
    const Dim first = tile * kLanes;
    MixRows(args, first, args.rows - first < kLanes ? args.rows - first : kLanes);
  });
}

}  // namespace hearth::kernels::avx2
