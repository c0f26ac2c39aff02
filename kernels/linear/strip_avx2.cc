#include "kernels/linear/strip_avx2.h"

#include <immintrin.h>

#include "kernels/exl3/strip_sums_avx2.h"
#include "kernels/linear/hadamard_avx2.h"
#include "kernels/linear/panel_avx2.h"
#include "kernels/linear/plain_avx2.h"
#include "kernels/thread_scratch.h"

namespace hearth::kernels::avx2 {
namespace {

__m256 LoadHalves(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }

// Two vectors of a tile's rows in their own order -> the order of the sums (kExl3RowOrder): pairs of rows 0, 8, 2, 10..
void StoreInChainOrder(__m256 rows_low, __m256 rows_high, float* out) {
  const __m256d a = _mm256_castps_pd(rows_low), b = _mm256_castps_pd(rows_high);
  const __m256d even = _mm256_unpacklo_pd(a, b), odd = _mm256_unpackhi_pd(a, b);
  _mm256_store_ps(out, _mm256_castpd_ps(_mm256_permute2f128_pd(even, odd, 0x20)));
  _mm256_store_ps(out + 8, _mm256_castpd_ps(_mm256_permute2f128_pd(even, odd, 0x31)));
}

void RotateBlock(const float* x, const uint16_t* suh, float* rotated) {
  __m256 v[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), LoadHalves(suh + 8 * i));
  Hadamard128(v);
#pragma GCC unroll 16
  for (int i = 0; i < 8; ++i) StoreInChainOrder(v[2 * i], v[2 * i + 1], rotated + 16 * i);
}

void AddBias(const MatrixView& w, Dim strip, float* row) {
  const Dim first = strip * kStripColumns;
  const Dim columns = w.out_features - first < kStripColumns ? w.out_features - first : kStripColumns;
  Dim c = 0;
  for (; c + 8 <= columns; c += 8) {
    _mm256_store_ps(row + c, _mm256_add_ps(_mm256_load_ps(row + c), _mm256_loadu_ps(w.bias + first + c)));
  }
  for (; c < columns; ++c) row[c] += w.bias[first + c];
}

void RotateOutput(const uint16_t* svh, float* row) {
  __m256 v[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = _mm256_load_ps(row + 8 * i);
  Hadamard128(v);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm256_store_ps(row + 8 * i, _mm256_mul_ps(v[i], LoadHalves(svh + 8 * i)));
}

// Decodes the strip once, a panel at a time, for any number of rows.
void PanelSums(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* sums) {
  float* panel = ThreadScratch(ScratchSlot::kPanel, kPanelInputs * kStripColumns);
  for (Dim first = 0; first < w.in_padded; first += kPanelInputs) {
    const Dim k = w.in_padded - first < kPanelInputs ? w.in_padded - first : kPanelInputs;
    if (w.kind == WeightKind::kExl3) {
      Exl3DecodePanel(w, strip, first / kTile, k / kTile, panel);
    } else {
      PlainPanel(w, strip, first, k, panel);
    }
    MultiplyPanel(panel, k, x + first, stride, rows, sums);
  }
}

}  // namespace

void RotateInput(const MatrixView& w, const float* x, float* rotated) {
  if (!NeedsRotation(w)) {
    for (Dim k = 0; k < w.in_features; ++k) rotated[k] = x[k];
    return;
  }
  Dim first = 0;
  for (; first + kStripColumns <= w.in_features; first += kStripColumns) {
    RotateBlock(x + first, w.suh + first, rotated + first);
  }
  if (first == w.in_padded) return;
  // The last block continues with zeros. They are not multiplied, so that they are +0 as in the reference.
  alignas(32) float tail[kStripColumns];
  for (Dim i = 0; i < kStripColumns; ++i) tail[i] = first + i < w.in_features ? x[first + i] : 0.0f;
  constexpr uint16_t kOne = 0x3C00;
  uint16_t scales[kStripColumns];
  for (Dim i = 0; i < kStripColumns; ++i) scales[i] = first + i < w.in_features ? w.suh[first + i] : kOne;
  RotateBlock(tail, scales, rotated + first);
}

void StripProduct(const MatrixView& w, Dim strip, const float* x, Dim stride, Dim rows, float* y) {
  for (Dim i = 0; i < rows * kStripColumns; i += 8) _mm256_store_ps(y + i, _mm256_setzero_ps());
  const bool exl3 = NeedsRotation(w);
  const Dim fused_rows = exl3 ? Exl3StripSumsRows(w.codebook) : kPlainFusedRows;
  if (rows > fused_rows) {
    PanelSums(w, strip, x, stride, rows, y);
  } else if (rows > 0) {
    if (exl3) {
      Exl3StripSums(w, strip, x, stride, rows, y);
    } else {
      PlainStripSums(w, strip, x, stride, rows, y);
    }
  }
  FinishStrip(w, strip, rows, y);
}

void FinishStrip(const MatrixView& w, Dim strip, Dim rows, float* y) {
  for (Dim r = 0; r < rows; ++r) {
    float* row = y + r * kStripColumns;
    if (NeedsRotation(w)) RotateOutput(w.svh + strip * kStripColumns, row);
    if (w.bias != nullptr) AddBias(w, strip, row);
  }
}

}  // namespace hearth::kernels::avx2
