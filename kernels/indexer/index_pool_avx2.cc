#include "kernels/indexer/indexer.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {
namespace {

// The epsilon is the model's own and has no key. Mean first, then the sum of squared distances: eight lanes, one tree.
void LayerNorm(const float* x, const float* weight, const float* bias, Dim n, float* out) {
  __m256 sum = _mm256_setzero_ps();
  for (Dim i = 0; i < n; i += kLanes) sum = _mm256_add_ps(sum, LoadFirst(x + i, n - i));
  const __m256 mean = _mm256_set1_ps(Sum8(sum) / static_cast<float>(n));
  __m256 squares = _mm256_setzero_ps();
  for (Dim i = 0; i < n; i += kLanes) {
    const __m256 inside = _mm256_castsi256_ps(LaneMask(n - i));
    const __m256 distance = _mm256_and_ps(_mm256_sub_ps(LoadFirst(x + i, n - i), mean), inside);
    squares = _mm256_fmadd_ps(distance, distance, squares);
  }
  const float variance = Sum8(squares) / static_cast<float>(n);
  const __m256 factor = _mm256_set1_ps(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(variance + 1e-6f))));
  for (Dim i = 0; i < n; i += kLanes) {
    const Dim left = n - i;
    const __m256 centred = _mm256_mul_ps(_mm256_sub_ps(LoadFirst(x + i, left), mean), factor);
    StoreFirst(out + i, left, _mm256_fmadd_ps(centred, LoadFirst(weight + i, left), LoadFirst(bias + i, left)));
  }
}

// Mixture of the pool's keys, per channel, weighted by the softmax of gate + ape over its tokens.
template <typename Kv>
void StorePoolKey(const IndexPoolArgs& args, const float* tail, Kv* out) {
  const Dim dim = args.dim;
  for (Dim c = 0; c < dim; c += kLanes) {
    const Dim left = dim - c;
    const auto logit = [&](Dim j) {
      return _mm256_add_ps(LoadFirst(tail + (2 * j + 1) * dim + c, left), LoadFirst(args.ape + j * dim + c, left));
    };
    __m256 top = logit(0);
    for (Dim j = 1; j < args.kpool; ++j) top = _mm256_max_ps(top, logit(j));
    __m256 sum = _mm256_setzero_ps(), mixed = _mm256_setzero_ps();
    for (Dim j = 0; j < args.kpool; ++j) {
      const __m256 weight = Exp8(_mm256_sub_ps(logit(j), top));
      sum = _mm256_add_ps(sum, weight);
      mixed = _mm256_fmadd_ps(weight, LoadFirst(tail + 2 * j * dim + c, left), mixed);
    }
    StoreFirst(out + c, left, _mm256_div_ps(mixed, sum));
  }
}

void PoolSegment(const IndexPoolArgs& args, const IndexSegment& segment) {
  const Dim dim = args.dim, kpool = args.kpool;
  for (Dim row = segment.row_begin; row < segment.row_begin + segment.row_count; ++row) {
    const Dim sequence = args.where.row_sequence[row], position = args.where.row_position[row];
    float* entry = segment.tail + position % kpool * 2 * dim;
    LayerNorm(args.k_raw + row * dim, args.k_weight, args.k_bias, dim, entry);
    for (Dim c = 0; c < dim; c += kLanes) {
      StoreFirst(entry + dim + c, dim - c, LoadFirst(args.gate + row * dim + c, dim - c));
    }
    if ((position + 1) % kpool != 0) continue;
    const Dim at = args.where.PoolSlot(sequence, position / kpool, kpool) * dim;
    if (args.kv_type == KvType::kF16) {
      StorePoolKey(args, segment.tail, static_cast<uint16_t*>(args.pool_keys) + at);
    } else {
      StorePoolKey(args, segment.tail, static_cast<float*>(args.pool_keys) + at);
    }
  }
}

}  // namespace

void IndexPool(void*, const IndexPoolArgs& args) {
  const Dim rows = LongestSegment(args.segments, args.segment_count);
  ParallelFor(args.segment_count, GrainFor(rows * 32 * args.dim), [&](Dim s) { PoolSegment(args, args.segments[s]); });
}

}  // namespace hearth::kernels::avx2
