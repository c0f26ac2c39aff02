#include "common/base/check.h"
#include "kernels/mixer/hc_weights_avx2.h"
#include "kernels/mixer/mixer.h"
#include "kernels/parallel.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {

void HcSpread(void*, const HcSpreadArgs& args) {
  const Dim hc = args.hc, hidden = args.hidden;
  HEARTH_CHECK(hc > 0 && hc <= kMaxStreams, "number of residual streams");
  ParallelFor(args.rows, GrainFor(hc * (hc + 2) * hidden), [&](Dim row) {
    float* streams = args.streams + row * hc * hidden;
    const float* y = args.y + row * hidden;
    const float* post = args.post + row * hc;
    const float* comb = args.comb + row * hc * hc;
    for (Dim d = 0; d < hidden; d += kLanes) {
      const Dim left = hidden - d;
      __m256 old[kMaxStreams];
      for (Dim i = 0; i < hc; ++i) old[i] = LoadFirst(streams + i * hidden + d, left);
      const __m256 out = LoadFirst(y + d, left);
      for (Dim j = 0; j < hc; ++j) {
        __m256 sum = _mm256_mul_ps(_mm256_set1_ps(post[j]), out);
        for (Dim i = 0; i < hc; ++i) sum = _mm256_fmadd_ps(_mm256_set1_ps(comb[i * hc + j]), old[i], sum);
        StoreFirst(streams + j * hidden + d, left, sum);
      }
    }
  });
}

}  // namespace hearth::kernels::avx2
