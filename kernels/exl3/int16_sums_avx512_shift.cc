#include "kernels/exl3/int16_sums_avx512_lanes.h"

namespace hearth::kernels {
namespace {

struct Lanes : Avx512Words<0> {
  static constexpr Dim kTiles = 2;

  static HEARTH_INLINE Vec Load(const uint32_t* words, Dim next_tile) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(words))),
                              _mm256_load_si256(reinterpret_cast<const __m256i*>(words + next_tile)), 1);
  }
  static HEARTH_INLINE Vec PreviousPair(Vec v) {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6, 15, 8, 9, 10, 11, 12, 13, 14), v);
  }
  static HEARTH_INLINE Vec SwapHalves(Vec v) { return _mm512_rol_epi32(v, 16); }
  static HEARTH_INLINE Vec Halves(Vec low, Vec high) { return _mm512_mask_mov_epi16(low, 0xAAAAAAAA, high); }
  template <int kBits>
  static HEARTH_INLINE Vec ShiftLeft(Vec v) {
    return kBits == 0 ? v : _mm512_slli_epi32(v, kBits);
  }
  template <int kBits>
  static HEARTH_INLINE Vec ShiftRight(Vec v) {
    return kBits == 0 ? v : _mm512_srli_epi32(v, kBits);
  }
  // One state per lane, one multiplication, and the sum of the four bytes at once: vdbpsadbw with zero puts it into
  // both halves of the lane. Twice that, with the second step written over the upper halves, costs five operations on
  // the multipliers' ports per 32 weights; multiplying in 16 bits costs six. Two pairs at a time, stage by stage,
  // because the chain is long.
  template <uint32_t P, typename Stream>
  static HEARTH_INLINE void Sums(const Stream& stream, Vec* first, Vec* second) {
    const Vec zero = _mm512_setzero_si512();
    const Vec even0 = Product(stream.template Window<2 * P, false>());
    const Vec odd0 = Product(stream.template Window<2 * P + 1, false>());
    const Vec even1 = Product(stream.template Window<2 * P + 2, false>());
    const Vec odd1 = Product(stream.template Window<2 * P + 3, false>());
    *first = _mm512_dbsad_epu8(even0, zero, 0);
    *second = _mm512_dbsad_epu8(even1, zero, 0);
    *first = _mm512_mask_dbsad_epu8(*first, 0xAAAAAAAA, odd0, zero, 0);
    *second = _mm512_mask_dbsad_epu8(*second, 0xAAAAAAAA, odd1, zero, 0);
  }
  static HEARTH_INLINE Vec Product(Vec window) {
    return _mm512_mullo_epi32(_mm512_maskz_mov_epi16(0x55555555, window),
                              _mm512_set1_epi32(static_cast<int>(0x83DCD12Du)));
  }
  static HEARTH_INLINE Vec Set32(int v) { return _mm512_set1_epi32(v); }
  static HEARTH_INLINE Vec Broadcast32(const void* p) { return _mm512_set1_epi32(*static_cast<const int*>(p)); }

  static HEARTH_INLINE void Flush(Vec low, Vec high, float scale, float* sums) {
    const __m512 s = _mm512_set1_ps(scale);
    const __m512 first = _mm512_cvtepi32_ps(_mm512_inserti64x4(low, _mm512_castsi512_si256(high), 1));
    const __m512 second = _mm512_cvtepi32_ps(_mm512_shuffle_i64x2(low, high, 0xEE));
    _mm512_store_ps(sums, _mm512_fmadd_ps(first, s, _mm512_load_ps(sums)));
    _mm512_store_ps(sums + 16, _mm512_fmadd_ps(second, s, _mm512_load_ps(sums + 16)));
  }
};

template <uint32_t K, int kRows>
struct Kernel {
  static constexpr Int16BlocksKernel Run = SumByShifts<Lanes, K, kRows>;
};
constexpr Int16Table<Kernel, kInt16SharedRows> kTable;

}  // namespace

void Int16SumsAvx512Shift(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  kTable.Sum(w, strip, x, stride, rows, sums);
}

}  // namespace hearth::kernels
