#include "kernels/parallel.h"
#include "kernels/router/router.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {

void MoeCombine(void*, const MoeCombineArgs& args) {
  const Dim hidden = args.hidden;
  ParallelFor(args.rows, GrainFor((4 * args.top_k + 4) * hidden), [&](Dim row) {
    const float* weights = args.weights + row * args.top_k;
    const float* picks = args.pick_out + row * args.top_k * hidden;
    for (Dim d = 0; d < hidden; d += kLanes) {
      const Dim left = hidden - d;
      __m256 sum = _mm256_setzero_ps();
      for (Dim k = 0; k < args.top_k; ++k) {
        sum = _mm256_fmadd_ps(_mm256_set1_ps(weights[k]), LoadFirst(picks + k * hidden + d, left), sum);
      }
      StoreFirst(args.y + row * hidden + d, left, _mm256_add_ps(sum, LoadFirst(args.shared + row * hidden + d, left)));
    }
  });
}

}  // namespace hearth::kernels::avx2
