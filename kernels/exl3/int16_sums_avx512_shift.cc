#include "kernels/exl3/int16_sums_avx512_lanes.h"

namespace hearth::kernels {
namespace {

constexpr __mmask32 kLowHalves = 0x55555555, kHighHalves = 0xAAAAAAAA;

// One word of the pairs of two tiles.
HEARTH_INLINE __m512i Load(const uint32_t* first, const uint32_t* second) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(first))),
                            _mm256_load_si256(reinterpret_cast<const __m256i*>(second)), 1);
}

// The string of a tile is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
HEARTH_INLINE __m512i PreviousPair(__m512i v) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6, 15, 8, 9, 10, 11, 12, 13, 14), v);
}

// The stream of the pairs by halves of words: half[j + 1] has half j in the low bits of its lanes and anything above. A
// window of 16 bits lies inside two consecutive halves, and a shift of both by a constant under a mask cuts it out
// alone in its lane.
template <uint32_t K>
struct HalfStream {
  __m512i half[2 * K + 1];

  explicit HEARTH_INLINE HalfStream(const uint32_t* tile) {
    for (uint32_t m = 0; m < K; ++m) {
      const __m512i word = Load(tile + 8 * m, tile + 8 * (m + K));
      half[2 * m + 1] = _mm512_srli_epi32(word, 16);
      half[2 * m + 2] = word;
    }
    half[0] = PreviousPair(half[2 * K]);
  }

  template <uint32_t kStep>
  HEARTH_INLINE __m512i State() const {
    constexpr uint32_t kEnd = (kStep + 1) * K;
    constexpr uint32_t kLast = (kEnd - 1) / 16;
    constexpr int kAfter = static_cast<int>(16 * (kLast + 1) - kEnd);
    return _mm512_maskz_shrdi_epi16(kLowHalves, half[kLast + 1], half[kLast], kAfter);
  }
};

// The same by whole words and the words cut 16 bits earlier: one instruction more for a state, but a plain shift, known
// to run beside the multipliers on Zen 4, and a mask, which any port takes.
template <uint32_t K>
struct WordStream {
  __m512i word[K], early[K];

  explicit HEARTH_INLINE WordStream(const uint32_t* tile) {
    __m512i turned[K];
    for (uint32_t m = 0; m < K; ++m) {
      word[m] = Load(tile + 8 * m, tile + 8 * (m + K));
      turned[m] = _mm512_rol_epi32(word[m], 16);
    }
    __m512i previous = PreviousPair(turned[K - 1]);
    for (uint32_t m = 0; m < K; ++m) {
      early[m] = _mm512_mask_mov_epi16(turned[m], kHighHalves, previous);
      previous = turned[m];
    }
  }

  template <uint32_t kStep>
  HEARTH_INLINE __m512i State() const {
    constexpr StatePlace kPlace = PlaceOfStep<K>(kStep);
    const __m512i lanes = kPlace.early ? early[kPlace.word] : word[kPlace.word];
    return _mm512_maskz_mov_epi16(kLowHalves, _mm512_srli_epi32(lanes, kPlace.shift));
  }
};

template <template <uint32_t> class StreamOf>
struct Lanes : Avx512Words<0> {
  static constexpr Dim kTiles = 2;
  template <uint32_t K>
  using Stream = StreamOf<K>;

  // One state per lane, one multiplication, and the sum of the four bytes at once: vdbpsadbw with zero puts it into
  // both halves of the lane. Twice that, with the second step written over the upper halves, costs five operations on
  // the multipliers' ports per 32 weights; multiplying in 16 bits costs six. Two pairs at a time, stage by stage,
  // because the chain is long.
  template <uint32_t P, uint32_t K>
  static HEARTH_INLINE void Sums(const StreamOf<K>& stream, Vec* first, Vec* second) {
    const Vec zero = _mm512_setzero_si512();
    const Vec even0 = Product(stream.template State<2 * P>());
    const Vec odd0 = Product(stream.template State<2 * P + 1>());
    const Vec even1 = Product(stream.template State<2 * P + 2>());
    const Vec odd1 = Product(stream.template State<2 * P + 3>());
    *first = _mm512_dbsad_epu8(even0, zero, 0);
    *second = _mm512_dbsad_epu8(even1, zero, 0);
    *first = _mm512_mask_dbsad_epu8(*first, kHighHalves, odd0, zero, 0);
    *second = _mm512_mask_dbsad_epu8(*second, kHighHalves, odd1, zero, 0);
  }
  static HEARTH_INLINE Vec Product(Vec state) {
    return _mm512_mullo_epi32(state, _mm512_set1_epi32(static_cast<int>(0x83DCD12Du)));
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
  static constexpr Int16BlocksKernel Run = SumByShifts<Lanes<HalfStream>, K, kRows>;
};
constexpr Int16Table<Kernel, kInt16SharedRows> kTable;

template <uint32_t K, int kRows>
struct MaskKernel {
  static constexpr Int16BlocksKernel Run = SumByShifts<Lanes<WordStream>, K, kRows>;
};
constexpr Int16Table<MaskKernel, 1> kMaskTable;

}  // namespace

void Int16SumsAvx512Shift(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  kTable.Sum(w, strip, x, stride, rows, sums);
}

void Int16SumsAvx512ShiftMask(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  // More rows share a state, so cutting it out counts for less: not worth the code.
  if (rows > 1) return Int16SumsAvx512Shift(w, strip, x, stride, rows, sums);
  kMaskTable.Sum(w, strip, x, stride, rows, sums);
}

}  // namespace hearth::kernels
