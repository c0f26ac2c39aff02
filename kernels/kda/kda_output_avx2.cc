#include "kernels/kda/kda.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {

void KdaOutput(void*, const KdaOutputArgs& args) {
  const Dim dim = args.dim;
  ParallelFor(args.rows * args.heads, GrainFor(32 * dim), [&](Dim head) {
    const float* o = args.o + head * dim;
    const float* gate = args.gate + head * dim;
    float* out = args.out + head * dim;
    const __m256 r = _mm256_set1_ps(InverseRms(o, dim, args.eps));
    for (Dim c = 0; c < dim; c += kLanes) {
      const Dim left = dim - c;
      const __m256 n = _mm256_mul_ps(_mm256_mul_ps(LoadFirst(o + c, left), r), LoadFirst(args.weight + c, left));
      StoreFirst(out + c, left, _mm256_mul_ps(n, Sigmoid8(LoadFirst(gate + c, left))));
    }
  });
}

}  // namespace hearth::kernels::avx2
