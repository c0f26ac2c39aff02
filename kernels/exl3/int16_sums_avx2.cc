#include "kernels/exl3/int16_sums_impl.h"

namespace hearth::kernels {
namespace {

struct Avx2Lanes {
  using Vec = __m256i;
  static constexpr Dim kTiles = 1;

  static HEARTH_INLINE Vec Load(const uint32_t* words, Dim) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(words));
  }
  static HEARTH_INLINE Vec PreviousPair(Vec v) {
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
  }
  static HEARTH_INLINE Vec SwapHalves(Vec v) {
    return _mm256_shuffle_epi8(
        v, _mm256_set_epi64x(0x0D0C0F0E09080B0A, 0x0504070601000302, 0x0D0C0F0E09080B0A, 0x0504070601000302));
  }
  static HEARTH_INLINE Vec Halves(Vec low, Vec high) { return _mm256_blend_epi16(low, high, 0xAA); }
  template <int kBits>
  static HEARTH_INLINE Vec ShiftLeft(Vec v) {
    return kBits == 0 ? v : _mm256_slli_epi32(v, kBits);
  }
  template <int kBits>
  static HEARTH_INLINE Vec ShiftRight(Vec v) {
    return kBits == 0 ? v : _mm256_srli_epi32(v, kBits);
  }
  static HEARTH_INLINE Vec Set16(int v) { return _mm256_set1_epi16(static_cast<short>(v)); }
  static HEARTH_INLINE Vec Set32(int v) { return _mm256_set1_epi32(v); }
  static HEARTH_INLINE Vec Broadcast32(const void* p) { return _mm256_set1_epi32(*static_cast<const int*>(p)); }
  static HEARTH_INLINE Vec MulLow(Vec a, Vec b) { return _mm256_mullo_epi16(a, b); }
  static HEARTH_INLINE Vec MulHigh(Vec a, Vec b) { return _mm256_mulhi_epu16(a, b); }
  static HEARTH_INLINE Vec Add16(Vec a, Vec b) { return _mm256_add_epi16(a, b); }
  static HEARTH_INLINE Vec SumBytes(Vec v) { return _mm256_maddubs_epi16(v, _mm256_set1_epi8(1)); }
  template <uint32_t P, typename Stream>
  static HEARTH_INLINE void Sums(const Stream& stream, Vec* first, Vec* second) {
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
