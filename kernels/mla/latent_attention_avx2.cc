#include "kernels/mla/attended_slots.h"
#include "kernels/mla/mla.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_dots.h"
#include "kernels/simd/float_buffer.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr int kHeadGroup = 4;  // heads that share each load of a latent

// p[h * stride + j] = ql[h] . c_j, tokens two at a time.
template <int H, typename Kv>
void Scores(const float* ql, Dim rank, const Kv* const* c, Dim tokens, float* p, Dim stride) {
  Dim j = 0;
  for (; j + 2 <= tokens; j += 2) DotTile<H, 2>(ql, rank, c + j, rank, p + j, stride, 1);
  if (j < tokens) DotTile<H, 1>(ql, rank, c + j, rank, p + j, stride, 1);
}

// Scores to exp(scale * score - largest), in place; returns their sum: eight lanes over ascending steps, then the tree.
float Exponentials(float* p, Dim tokens, float scale) {
  const __m256 factor = _mm256_set1_ps(scale);
  __m256 top = _mm256_mul_ps(factor, _mm256_set1_ps(p[0]));
  for (Dim j = 0; j < tokens; j += kLanes) {
    const __m256 scaled = _mm256_mul_ps(factor, LoadFirst(p + j, tokens - j));
    StoreFirst(p + j, tokens - j, scaled);
    const __m256 inside = _mm256_castsi256_ps(LaneMask(tokens - j));
    top = _mm256_max_ps(top, _mm256_blendv_ps(top, scaled, inside));
  }
  const __m256 largest = _mm256_set1_ps(Max8(top));
  __m256 sum = _mm256_setzero_ps();
  for (Dim j = 0; j < tokens; j += kLanes) {
    const __m256 e = _mm256_and_ps(Exp8(_mm256_sub_ps(LoadFirst(p + j, tokens - j), largest)),
                                   _mm256_castsi256_ps(LaneMask(tokens - j)));
    StoreFirst(p + j, tokens - j, e);
    sum = _mm256_add_ps(sum, e);
  }
  return Sum8(sum);
}

// N vectors of ol from column i on: one chain per number over ascending tokens, divided by the sum at the end.
template <int H, int N, typename Kv>
void MixColumns(const float* p, Dim stride, const float* inverse, const Kv* const* c, Dim tokens, Dim i, Dim count,
                float* ol, Dim rank) {
  __m256 sum[H][N];
  for (int h = 0; h < H; ++h) {
    for (int n = 0; n < N; ++n) sum[h][n] = _mm256_setzero_ps();
  }
  for (Dim j = 0; j < tokens; ++j) {
    __m256 v[N];
    for (int n = 0; n < N; ++n) v[n] = LoadFirst(c[j] + i + n * kLanes, count - n * kLanes);
    for (int h = 0; h < H; ++h) {
      const __m256 weight = _mm256_set1_ps(p[h * stride + j]);
      for (int n = 0; n < N; ++n) sum[h][n] = _mm256_fmadd_ps(weight, v[n], sum[h][n]);
    }
  }
  for (int h = 0; h < H; ++h) {
    const __m256 factor = _mm256_set1_ps(inverse[h]);
    for (int n = 0; n < N; ++n) {
      StoreFirst(ol + h * rank + i + n * kLanes, count - n * kLanes, _mm256_mul_ps(sum[h][n], factor));
    }
  }
}

// H heads of a row.
template <int H, typename Kv>
void Attend(const float* ql, Dim rank, const Kv* const* c, Dim tokens, float scale, float* p, float* ol) {
  const Dim stride = tokens;
  Scores<H>(ql, rank, c, tokens, p, stride);
  float inverse[H];
  for (int h = 0; h < H; ++h) inverse[h] = 1.0f / Exponentials(p + h * stride, tokens, scale);
  Dim i = 0;
  for (; i + 2 * kLanes <= rank; i += 2 * kLanes) {
    MixColumns<H, 2>(p, stride, inverse, c, tokens, i, 2 * kLanes, ol, rank);
  }
  for (; i < rank; i += kLanes) MixColumns<H, 1>(p, stride, inverse, c, tokens, i, rank - i, ol, rank);
}

template <typename Kv>
void AttendRow(const LatentAttentionArgs& args, Dim row, Dim group) {
  const Dim tokens = AttendedCount(args, row), rank = args.rank;
  FloatBuffer scores(kHeadGroup * tokens);
  FloatBuffer places(tokens * static_cast<Dim>(sizeof(const Kv*) / sizeof(float)));
  const Kv** c = reinterpret_cast<const Kv**>(places.data());
  ForAttendedSlots(args, row, [&](Dim j, Dim slot) { c[j] = static_cast<const Kv*>(args.pool) + slot * rank; });

  const Dim first = group * kHeadGroup;
  const float* ql = args.ql + (row * args.heads + first) * rank;
  float* ol = args.ol + (row * args.heads + first) * rank;
  if (args.heads - first >= kHeadGroup) {
    Attend<kHeadGroup>(ql, rank, c, tokens, args.scale, scores.data(), ol);
    return;
  }
  for (Dim h = 0; h < args.heads - first; ++h) {
    Attend<1>(ql + h * rank, rank, c, tokens, args.scale, scores.data(), ol + h * rank);
  }
}

}  // namespace

void LatentAttention(void*, const LatentAttentionArgs& args) {
  const Dim groups = (args.heads + kHeadGroup - 1) / kHeadGroup;
  Dim tokens = 0;
  for (Dim row = 0; row < args.rows; ++row)
    tokens = AttendedCount(args, row) > tokens ? AttendedCount(args, row) : tokens;
  ParallelFor(args.rows * groups, GrainFor(2 * kHeadGroup * tokens * args.rank), [&](Dim task) {
    if (args.kv_type == KvType::kF16) {
      AttendRow<uint16_t>(args, task / groups, task % groups);
    } else {
      AttendRow<float>(args, task / groups, task % groups);
    }
  });
}

}  // namespace hearth::kernels::avx2
