#include "kernels/exl3/int16_words_avx2.h"

namespace hearth::kernels {
namespace {

struct Avx2Lanes {
  using Vec = __m256i;
  static constexpr Dim kTiles = 1;

  template <uint32_t K>
  struct Stream {
    Vec word[K], early[K];

    explicit HEARTH_INLINE Stream(const uint32_t* tile) {
      Vec turned[K];
      for (uint32_t m = 0; m < K; ++m) {
        word[m] = LoadWords(tile, m);
        turned[m] = SwapHalves(word[m]);
      }
      Vec previous = PreviousPair(turned[K - 1]);
      for (uint32_t m = 0; m < K; ++m) {
        early[m] = Halves(turned[m], previous);
        previous = turned[m];
      }
    }

    template <uint32_t kStep, bool kHigh>
    HEARTH_INLINE Vec Window() const {
      constexpr StatePlace kPlace = PlaceOfStep<K>(kStep);
      const Vec lanes = kPlace.early ? early[kPlace.word] : word[kPlace.word];
      if constexpr (kHigh) {
        return kPlace.shift == 16 ? lanes : _mm256_slli_epi32(lanes, 16 - kPlace.shift);
      } else {
        return kPlace.shift == 0 ? lanes : _mm256_srli_epi32(lanes, kPlace.shift);
      }
    }

    // States of steps 2P and 2P + 1.
    template <uint32_t P>
    HEARTH_INLINE Vec States() const {
      return Halves(Window<2 * P, false>(), Window<2 * P + 1, true>());
    }
  };

  static HEARTH_INLINE Vec Set16(int v) { return _mm256_set1_epi16(static_cast<short>(v)); }
  static HEARTH_INLINE Vec Set32(int v) { return _mm256_set1_epi32(v); }
  static HEARTH_INLINE Vec Broadcast32(const void* p) { return _mm256_set1_epi32(*static_cast<const int*>(p)); }
  static HEARTH_INLINE Vec MulLow(Vec a, Vec b) { return _mm256_mullo_epi16(a, b); }
  static HEARTH_INLINE Vec MulHigh(Vec a, Vec b) { return _mm256_mulhi_epu16(a, b); }
  static HEARTH_INLINE Vec Add16(Vec a, Vec b) { return _mm256_add_epi16(a, b); }
  static HEARTH_INLINE Vec SumBytes(Vec v) { return _mm256_maddubs_epi16(v, _mm256_set1_epi8(1)); }
  template <uint32_t P, uint32_t K>
  static HEARTH_INLINE void Sums(const Stream<K>& stream, Vec* first, Vec* second) {
    *first = ByteSums<Avx2Lanes>(stream.template States<P>());
    *second = ByteSums<Avx2Lanes>(stream.template States<P + 1>());
  }
  static HEARTH_INLINE Vec Dot(Vec sum, Vec a, Vec b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }

  static HEARTH_INLINE void Flush(Vec low, Vec high, float scale, float* sums) {
    const __m256 s = _mm256_set1_ps(scale);
    _mm256_store_ps(sums, _mm256_fmadd_ps(_mm256_cvtepi32_ps(low), s, _mm256_load_ps(sums)));
    _mm256_store_ps(sums + 8, _mm256_fmadd_ps(_mm256_cvtepi32_ps(high), s, _mm256_load_ps(sums + 8)));
  }
};

template <uint32_t K, int kRows>
struct Kernel {
  static constexpr Int16BlocksKernel Run = SumByShifts<Avx2Lanes, K, kRows>;
};
// Two accumulators for each row; the decoder needs the other registers.
constexpr Int16Table<Kernel, 4> kTable;

}  // namespace

void Int16SumsAvx2(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  kTable.Sum(w, strip, x, stride, rows, sums);
}

}  // namespace hearth::kernels
