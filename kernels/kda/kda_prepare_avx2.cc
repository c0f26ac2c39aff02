#include "kernels/kda/kda.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {
namespace {

float Root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

// x / sqrt(sum(x^2) + 1e-6) * scale; the epsilon is the model's own and has no key.
void NormaliseHead(float* x, Dim dim, float scale) {
  const __m256 factor = _mm256_set1_ps(scale / Root(SumOfSquares(x, dim) + 1e-6f));
  for (Dim c = 0; c < dim; c += kLanes) StoreFirst(x + c, dim - c, _mm256_mul_ps(LoadFirst(x + c, dim - c), factor));
}

}  // namespace

void KdaPrepare(void*, const KdaPrepareArgs& args) {
  const Dim dim = args.dim, width = args.heads * dim;
  const float q_scale = 1.0f / Root(static_cast<float>(dim));
  const __m256 bound = _mm256_set1_ps(args.lower_bound);
  ParallelFor(args.rows, GrainFor(32 * width), [&](Dim row) {
    for (Dim h = 0; h < args.heads; ++h) {
      float* q = args.qkv + row * 3 * width + h * dim;
      NormaliseHead(q, dim, q_scale);
      NormaliseHead(q + width, dim, 1.0f);
      const __m256 rate = _mm256_set1_ps(ExpReal(args.a_log[h]));
      const float* f = args.f + row * width + h * dim;
      const float* dt_bias = args.dt_bias + h * dim;
      float* g = args.g + row * width + h * dim;
      for (Dim c = 0; c < dim; c += kLanes) {
        const __m256 z = _mm256_add_ps(LoadFirst(f + c, dim - c), LoadFirst(dt_bias + c, dim - c));
        StoreFirst(g + c, dim - c, _mm256_mul_ps(bound, Sigmoid8(_mm256_mul_ps(rate, z))));
      }
      args.beta[row * args.heads + h] = SigmoidReal(args.b[row * args.heads + h]);
    }
  });
}

}  // namespace hearth::kernels::avx2
