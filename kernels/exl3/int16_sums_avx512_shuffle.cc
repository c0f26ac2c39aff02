#include "kernels/exl3/int16_sums_avx512_lanes.h"

namespace hearth::kernels {
namespace {

// The kernel by vpmultishiftqb, one tile at a time. A lane of 64 bits is a column pair. It holds two consecutive words
// of the pair's stream, and the shuffle cuts four windows of 16 bits out of each lane at once: the states of four
// consecutive steps, which all meet one column.
using V = Avx512Words<1>;
using Vec = V::Vec;

// Group G is steps 4G .. 4G+3. Bits are counted from the word before the pair; windows of a group span 16 + 3K bits.
template <uint32_t K>
constexpr uint32_t WindowsBegin(uint32_t group) {
  return (4 * group + 1) * K + 32 - 16;
}
// The first of the two words that contain a group's windows.
template <uint32_t K>
constexpr uint32_t FirstWord(uint32_t group) {
  const uint32_t word = WindowsBegin<K>(group) / 32;
  return word < K ? word : K - 1;
}
// At K = 7 one group reaches into a third word. Its lane begins in the middle of the first word.
template <uint32_t K>
constexpr bool Straddles(uint32_t group) {
  return WindowsBegin<K>(group) + 16 + 3 * K > 32 * FirstWord<K>(group) + 64;
}

// Places of the windows' bytes in the 64 bits, least significant first.
template <uint32_t K>
struct Places {
  alignas(64) uint8_t byte[8][64];
  constexpr Places() : byte() {
    for (uint32_t g = 0; g < 8; ++g) {
      const uint32_t end_of_lane = 32 * FirstWord<K>(g) + 64 + (Straddles<K>(g) ? 16 : 0);
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t end = (4 * g + i % 4 + 1) * K + 32;
        byte[g][2 * i] = static_cast<uint8_t>(end_of_lane - end);
        byte[g][2 * i + 1] = static_cast<uint8_t>(end_of_lane - end + 8);
      }
    }
  }
};
template <uint32_t K>
constexpr Places<K> kPlaces;

// Words m and m+1 of pair c as the high and the low half of lane c. Loads of 64 bytes reach over two words of all
// pairs.
template <uint32_t K>
struct PairWords {
  Vec lanes[K];

  explicit HEARTH_INLINE PairWords(const uint32_t* tile) {
    if constexpr (K == 1) {
      const Vec word = _mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(tile)));
      lanes[0] = _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 7, 1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 6, 5, 7, 6), word);
    } else {
      // The string is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
      lanes[0] = _mm512_permutex2var_epi32(_mm512_loadu_si512(tile),
                                           _mm512_setr_epi32(0, 31, 1, 24, 2, 25, 3, 26, 4, 27, 5, 28, 6, 29, 7, 30),
                                           _mm512_loadu_si512(tile + 8 * (K - 2)));
      for (uint32_t m = 1; m < K; ++m) {
        lanes[m] = _mm512_permutexvar_epi32(_mm512_setr_epi32(8, 0, 9, 1, 10, 2, 11, 3, 12, 4, 13, 5, 14, 6, 15, 7),
                                            _mm512_loadu_si512(tile + 8 * (m - 1)));
      }
    }
  }

  template <uint32_t G>
  HEARTH_INLINE Vec Of() const {
    constexpr uint32_t kFirst = FirstWord<K>(G);
    if constexpr (Straddles<K>(G)) {
      return _mm512_or_si512(_mm512_slli_epi64(lanes[kFirst], 16),
                             _mm512_maskz_mov_epi16(0x11111111, _mm512_srli_epi64(lanes[kFirst + 1], 16)));
    } else {
      return lanes[kFirst];
    }
  }
};

// Sums of adjacent lanes are columns c: the lanes hold two rows each.
HEARTH_INLINE void Flush(Vec low, Vec high, float scale, float* sums) {
  const Vec even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const Vec odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  const Vec sum =
      _mm512_add_epi32(_mm512_permutex2var_epi32(low, even, high), _mm512_permutex2var_epi32(low, odd, high));
  _mm512_store_ps(sums, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(scale), _mm512_load_ps(sums)));
}

template <uint32_t K, int kRows>
void SumByShuffles(const uint32_t* strip, Dim blocks, const std::byte* x, Dim stride, float* sums) {
  for (Dim b = 0; b < blocks; ++b, strip += kBlockTiles * 64 * K) {
    const char* ahead = reinterpret_cast<const char*>(strip) + kInt16Ahead;
    for (Dim column = 0; column < 8; ++column) {
      Vec acc[kRows][2];
      for (int r = 0; r < kRows; ++r) {
        const Int16Row row(x + r * stride, blocks * kInt16Block);
        acc[r][0] = acc[r][1] = _mm512_maskz_set1_epi32(0x5555, row.starts[b]);
      }
      const uint32_t* tile = strip + column * 8 * K;
      const std::byte* rows = x + b * kInt16Block * 2;
      for (Dim kt = 0; kt < kBlockTiles; ++kt, tile += 64 * K, rows += kTile * 2) {
        for (Dim byte = 0; byte < 32 * K; byte += 64) _mm_prefetch(ahead + byte, _MM_HINT_T0);
        ahead += 32 * K;
        const PairWords<K> words(tile);
        [&]<uint32_t... G>(std::integer_sequence<uint32_t, G...>) __attribute__((always_inline)) {
          const auto add = [&](auto g) __attribute__((always_inline)) {
            constexpr uint32_t kGroup = decltype(g)::value;
            const Vec places = _mm512_load_si512(kPlaces<K>.byte[kGroup]);
            const Vec s = ByteSums<V>(_mm512_multishift_epi64_epi8(places, words.template Of<kGroup>()));
            for (int r = 0; r < kRows; ++r) {
              // Groups 2q meet rows 2q, 2q+1, 2q+8, 2q+9 of columns c, groups 2q+1 those of c+8.
              long long four;
              __builtin_memcpy(&four, rows + r * stride + 8 * (kGroup / 2), sizeof four);
              acc[r][kGroup & 1] = V::Dot(acc[r][kGroup & 1], s, _mm512_set1_epi64(four));
            }
          };
          (add(std::integral_constant<uint32_t, G>{}), ...);
        }
        (std::make_integer_sequence<uint32_t, 8>{});
      }
      for (int r = 0; r < kRows; ++r) {
        const Int16Row row(x + r * stride, blocks * kInt16Block);
        Flush(acc[r][0], acc[r][1], row.scales[b], sums + r * kStripColumns + column * kTile);
      }
    }
  }
}

template <uint32_t K, int kRows>
struct Kernel {
  static constexpr Int16BlocksKernel Run = SumByShuffles<K, kRows>;
};
constexpr Int16Table<Kernel, kInt16SharedRows> kTable;

}  // namespace

void Int16SumsAvx512Shuffle(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  kTable.Sum(w, strip, x, stride, rows, sums);
}

}  // namespace hearth::kernels
