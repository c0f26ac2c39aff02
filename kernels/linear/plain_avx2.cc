#include "kernels/linear/plain_avx2.h"

#include <immintrin.h>

namespace hearth::kernels::avx2 {
namespace {

struct F32Lanes {
  using Element = float;
  static __m256 Load(const float* p) { return _mm256_loadu_ps(p); }
};
struct F16Lanes {
  using Element = uint16_t;
  static __m256 Load(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};
struct Bf16Lanes {
  using Element = uint16_t;
  static __m256 Load(const uint16_t* p) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
  }
};

// kVectors * 8 columns at a time: enough independent chains to hide the latency of fma with few rows.
template <typename Lanes, int kRows, int kVectors>
void StripSums(const typename Lanes::Element* strip, Dim in, const float* x, Dim stride, float* sums) {
  for (Dim first = 0; first < in; first += kTile) {
    const Dim count = in - first < kTile ? in - first : kTile;
    for (Dim column = 0; column < kStripColumns; column += 8 * kVectors) {
      __m256 acc[kRows][kVectors];
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm256_setzero_ps();
      }
      const typename Lanes::Element* w = strip + first * kStripColumns + column;
      for (Dim i = 0; i < count; ++i, w += kStripColumns) {
        for (int v = 0; v < kVectors; ++v) {
          const __m256 weights = Lanes::Load(w + 8 * v);
          for (int r = 0; r < kRows; ++r) {
            acc[r][v] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + r * stride + first + i), weights, acc[r][v]);
          }
        }
      }
      for (int r = 0; r < kRows; ++r) {
        float* sum = sums + r * kStripColumns + column;
        for (int v = 0; v < kVectors; ++v) {
          _mm256_store_ps(sum + 8 * v, _mm256_add_ps(_mm256_load_ps(sum + 8 * v), acc[r][v]));
        }
      }
    }
  }
}

template <typename Lanes>
void StripSumsRows(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* sums) {
  const auto* weights = static_cast<const typename Lanes::Element*>(w.data) + strip * w.in_features * kStripColumns;
  switch (rows) {
    case 1:
      return StripSums<Lanes, 1, 8>(weights, w.in_features, x, stride, sums);
    case 2:
      return StripSums<Lanes, 2, 4>(weights, w.in_features, x, stride, sums);
    case 3:
      return StripSums<Lanes, 3, 4>(weights, w.in_features, x, stride, sums);
    default:
      return StripSums<Lanes, 4, 2>(weights, w.in_features, x, stride, sums);
  }
}

template <typename Lanes>
void Panel(const MatrixView& w, Dim strip, Dim first, Dim k, float* panel) {
  const auto* weights =
      static_cast<const typename Lanes::Element*>(w.data) + (strip * w.in_features + first) * kStripColumns;
  for (Dim i = 0; i < k; ++i, weights += kStripColumns) {
    for (Dim tile = 0; tile < 8; ++tile) {
      float* out = panel + (tile * k + i) * kTile;
      _mm256_store_ps(out, Lanes::Load(weights + tile * kTile));
      _mm256_store_ps(out + 8, Lanes::Load(weights + tile * kTile + 8));
    }
  }
}

}  // namespace

void PlainStripSums(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* sums) {
  switch (w.kind) {
    case WeightKind::kF32:
      return StripSumsRows<F32Lanes>(w, strip, x, stride, rows, sums);
    case WeightKind::kF16:
      return StripSumsRows<F16Lanes>(w, strip, x, stride, rows, sums);
    default:
      return StripSumsRows<Bf16Lanes>(w, strip, x, stride, rows, sums);
  }
}

void PlainPanel(const MatrixView& w, Dim strip, Dim first, Dim k, float* panel) {
  switch (w.kind) {
    case WeightKind::kF32:
      return Panel<F32Lanes>(w, strip, first, k, panel);
    case WeightKind::kF16:
      return Panel<F16Lanes>(w, strip, first, k, panel);
    default:
      return Panel<Bf16Lanes>(w, strip, first, k, panel);
  }
}

}  // namespace hearth::kernels::avx2
