#include "kernels/mixer/mixer.h"
#include "kernels/norm/scale_row_avx2.h"
#include "kernels/parallel.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {

void HeadNorm(void*, const HeadNormArgs& args) {
  const Dim hc = args.hc, hidden = args.hidden;
  const __m256 share = _mm256_set1_ps(1.0f / static_cast<float>(hc));
  ParallelFor(args.rows, GrainFor((2 * hc + 8) * hidden), [&](Dim row) {
    const float* streams = args.streams + row * hc * hidden;
    float* out = args.out + row * hidden;
    for (Dim d = 0; d < hidden; d += kLanes) {
      __m256 sum = _mm256_setzero_ps();
      for (Dim s = 0; s < hc; ++s) sum = _mm256_add_ps(sum, LoadFirst(streams + s * hidden + d, hidden - d));
      StoreFirst(out + d, hidden - d, _mm256_mul_ps(sum, share));
    }
    ScaleRow(out, InverseRms(out, hidden, args.eps), args.weight, hidden, out);
  });
}

}  // namespace hearth::kernels::avx2
