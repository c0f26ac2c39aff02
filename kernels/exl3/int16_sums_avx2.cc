#include "kernels/exl3/int16_sums_impl.h"

namespace hearth::kernels {
namespace {

struct Avx2Lanes {
  using Vec = __m256i;
  static constexpr Dim kTiles = 1;

  template <uint32_t K>
  struct Stream {
    // The words of the pairs, and the same bit strings cut 16 bits earlier: any window of 16 bits lies inside one lane
    // of one of the two.
    Vec word[K], early[K];

    explicit HEARTH_INLINE Stream(const uint32_t* tile) {
      Vec turned[K];
      for (uint32_t m = 0; m < K; ++m) {
        word[m] = _mm256_load_si256(reinterpret_cast<const __m256i*>(tile + 8 * m));
        turned[m] = SwapHalves(word[m]);
      }
      // The string is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
      Vec previous = _mm256_permutevar8x32_epi32(turned[K - 1], _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
      for (uint32_t m = 0; m < K; ++m) {
        early[m] = Halves(turned[m], previous);
        previous = turned[m];
      }
    }

    template <uint32_t kStep, bool kHigh>
    HEARTH_INLINE Vec Window() const {
      constexpr uint32_t kEnd = (kStep + 1) * K;
      constexpr uint32_t kWord = (kEnd - 1) / 32;
      constexpr uint32_t kAfter = 32 * (kWord + 1) - kEnd;  // bits of the word behind the window
      constexpr bool kEarly = kAfter > 16;
      constexpr int kShift = kEarly ? kAfter - 16 : kAfter;
      const Vec lanes = kEarly ? early[kWord] : word[kWord];
      if constexpr (kHigh) {
        return kShift == 16 ? lanes : _mm256_slli_epi32(lanes, 16 - kShift);
      } else {
        return kShift == 0 ? lanes : _mm256_srli_epi32(lanes, kShift);
      }
    }

    // States of steps 2P and 2P + 1.
    template <uint32_t P>
    HEARTH_INLINE Vec States() const {
      return Halves(Window<2 * P, false>(), Window<2 * P + 1, true>());
    }
  };

  static HEARTH_INLINE Vec SwapHalves(Vec v) {
    return _mm256_shuffle_epi8(
        v, _mm256_set_epi64x(0x0D0C0F0E09080B0A, 0x0504070601000302, 0x0D0C0F0E09080B0A, 0x0504070601000302));
  }
  static HEARTH_INLINE Vec Halves(Vec low, Vec high) { return _mm256_blend_epi16(low, high, 0xAA); }
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
