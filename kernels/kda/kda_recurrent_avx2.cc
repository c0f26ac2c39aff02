#include "kernels/kda/kda.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/float_buffer.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kColumns = 64;  // value columns of one task: 128 rows of them fit the first cache
constexpr int kVectors = kColumns / kLanes;

struct Token {
  const float* q;
  const float* k;
  const float* v;
  const float* decay;
  float beta;
};

// One token on `columns` value columns of a head; s and o begin at the first of them. Every column has its own chains
// over ascending key channels.
template <int N>
void Step(const Token& token, Dim dim, Dim columns, float* s, float* o) {
  __m256 u[N], sum[N];
  for (int n = 0; n < N; ++n) u[n] = LoadFirst(token.v + n * kLanes, columns - n * kLanes);
  for (Dim c = 0; c < dim; ++c) {
    const __m256 k = _mm256_set1_ps(token.k[c]), decay = _mm256_set1_ps(token.decay[c]);
    for (int n = 0; n < N; ++n) {
      const __m256 old = _mm256_mul_ps(decay, LoadFirst(s + c * dim + n * kLanes, columns - n * kLanes));
      u[n] = _mm256_fnmadd_ps(k, old, u[n]);
    }
  }
  for (int n = 0; n < N; ++n) {
    u[n] = _mm256_mul_ps(u[n], _mm256_set1_ps(token.beta));
    sum[n] = _mm256_setzero_ps();
  }
  for (Dim c = 0; c < dim; ++c) {
    const __m256 k = _mm256_set1_ps(token.k[c]), decay = _mm256_set1_ps(token.decay[c]);
    const __m256 q = _mm256_set1_ps(token.q[c]);
    for (int n = 0; n < N; ++n) {
      float* at = s + c * dim + n * kLanes;
      const __m256 now = _mm256_fmadd_ps(k, u[n], _mm256_mul_ps(decay, LoadFirst(at, columns - n * kLanes)));
      StoreFirst(at, columns - n * kLanes, now);
      sum[n] = _mm256_fmadd_ps(q, now, sum[n]);
    }
  }
  for (int n = 0; n < N; ++n) StoreFirst(o + n * kLanes, columns - n * kLanes, sum[n]);
}

// All tokens of a segment on some value columns of a head.
void Columns(const KdaRuleArgs& args, const KdaSegment& segment, Dim head, Dim first, Dim columns) {
  const Dim dim = args.dim, width = args.heads * dim;
  FloatBuffer decay(dim);
  float* s = segment.state + head * dim * dim + first;
  for (Dim row = segment.row_begin; row < segment.row_begin + segment.row_count; ++row) {
    const Dim at = row * width + head * dim;
    for (Dim c = 0; c < dim; c += kLanes) {
      StoreFirst(decay.data() + c, dim - c, Exp8(LoadFirst(args.g + at + c, dim - c)));
    }
    const float* q = args.qkv + row * 3 * width + head * dim;
    const Token token{q, q + width, q + 2 * width + first, decay.data(), args.beta[row * args.heads + head]};
    if (columns == kColumns) {
      Step<kVectors>(token, dim, kColumns, s, args.o + at + first);
      continue;
    }
    for (Dim d = 0; d < columns; d += kLanes) {
      Token part = token;
      part.v += d;
      const Dim left = columns - d;
      Step<1>(part, dim, left < kLanes ? left : kLanes, s + d, args.o + at + first + d);
    }
  }
}

}  // namespace

void KdaRecurrent(void*, const KdaRuleArgs& args) {
  const Dim tiles = (args.dim + kColumns - 1) / kColumns;
  const Dim rows = LongestSegment(args.segments, args.segment_count);
  ParallelFor(args.segment_count * args.heads * tiles, GrainFor(rows * 4 * kColumns * args.dim), [&](Dim task) {
    const Dim first = task % tiles * kColumns;
    const Dim left = args.dim - first;
    Columns(args, args.segments[task / tiles / args.heads], task / tiles % args.heads, first,
            left < kColumns ? left : kColumns);
  });
}

}  // namespace hearth::kernels::avx2
