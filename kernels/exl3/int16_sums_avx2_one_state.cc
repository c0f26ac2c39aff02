#include "kernels/exl3/int16_words_avx2.h"

namespace hearth::kernels {
namespace {

using Vec = __m256i;

constexpr int kSteps = 32;  // of a pair's stream in a tile

// One state in each lane of 32 bits: the hash is one multiplication, and the sums of its two halves stay apart until
// the dot product adds them up. Twelve instructions for 16 states, as many as with two states in a lane, of which two
// instead of three are additions; and each chain from words to sum is that much shorter. On Zen 3 a tile takes 56
// clocks instead of 64, where the ports alone would allow 50 in both forms. Where vpmulld counts twice (Intel), it
// loses.

// In which order the steps of a tile are taken: those four apart meet the same row and share its activation. The last
// quarter comes first: its words lie in memory as they are needed, while the first steps want the last word of the
// neighbour, which takes longest to get.
consteval uint32_t StepAt(int i) {
  const int turned = (i + 24) % kSteps;
  return static_cast<uint32_t>(turned / 8 * 8 + turned % 2 * 4 + turned % 8 / 2);
}

// Is the i-th step the first to read its lanes?
template <uint32_t K>
consteval bool OpensLanes(int i) {
  const StatePlace place = PlaceOfStep<K>(StepAt(i));
  for (int j = 0; j < i; ++j) {
    const StatePlace other = PlaceOfStep<K>(StepAt(j));
    if (other.word == place.word && other.early == place.early) return false;
  }
  return true;
}

// Of the row order of a tile, see kExl3RowOrder.
consteval uint32_t RowOf(uint32_t step) { return step / 8 * 4 + step % 4; }
consteval bool SecondColumn(uint32_t step) { return step % 8 >= 4; }

// Keeps instructions in the order of the source: the compiler's own order needs more registers than there are.
HEARTH_INLINE void Fix(Vec& v) { asm volatile("" : "+x"(v)); }

template <uint32_t K>
class Tile {
 public:
  HEARTH_INLINE Tile(const uint32_t* words, const int16_t* x) : words_(words), x_(x) {}

  // Each turn is one stage of several steps, an instruction or two of each, so that no instruction waits for the one
  // before it.
  HEARTH_INLINE void AddTo(Vec* first, Vec* second) {
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) { (Turn<I>(first, second), ...); }
    (std::make_integer_sequence<int, kSteps + 4>{});
  }

 private:
  template <int I>
  HEARTH_INLINE void Turn(Vec* first, Vec* second) {
    if constexpr (I >= 3 && I - 3 < kSteps) LoadX<I - 3>();
    if constexpr (I < kSteps) CutState<I>();
    if constexpr (I >= 1 && I - 1 < kSteps) {
      Vec& v = lanes_of_step_[I - 1];
      v = _mm256_mullo_epi32(v, _mm256_set1_epi32(static_cast<int>(0x83DCD12D)));
      Fix(v);
    }
    if constexpr (I >= 2 && I - 2 < kSteps) {
      Vec& v = lanes_of_step_[I - 2];
      v = _mm256_maddubs_epi16(v, _mm256_set1_epi8(1));
      Fix(v);
    }
    if constexpr (I >= 3 && I - 3 < kSteps) {
      Vec& v = lanes_of_step_[I - 3];
      v = _mm256_madd_epi16(v, x_of_row_[RowOf(StepAt(I - 3))]);
      Fix(v);
    }
    if constexpr (I >= 4) {
      Vec& sum = SecondColumn(StepAt(I - 4)) ? *second : *first;
      sum = _mm256_add_epi32(sum, lanes_of_step_[I - 4]);
      Fix(sum);
    }
  }

  template <int I>
  HEARTH_INLINE void LoadX() {
    constexpr uint32_t kStep = StepAt(I);
    if constexpr (!SecondColumn(kStep)) {
      x_of_row_[RowOf(kStep)] = _mm256_set1_epi16(x_[RowOf(kStep)]);
      Fix(x_of_row_[RowOf(kStep)]);
    }
  }

  template <int I>
  HEARTH_INLINE void CutState() {
    constexpr StatePlace kPlace = PlaceOfStep<K>(StepAt(I));
    Vec& lanes = kPlace.early ? early_[kPlace.word] : word_[kPlace.word];
    if constexpr (OpensLanes<K>(I)) lanes = kPlace.early ? Early(kPlace.word) : LoadWords(words_, kPlace.word);
    Vec v = lanes;
    if constexpr (kPlace.shift == 0) {
      v = Halves(v, _mm256_setzero_si256());
    } else {
      if constexpr (kPlace.shift < 16) v = _mm256_slli_epi32(v, 16 - kPlace.shift);
      v = _mm256_srli_epi32(v, 16);
    }
    Fix(v);
    lanes_of_step_[I] = v;
  }

  HEARTH_INLINE Vec Early(uint32_t word) const {
    Vec before = SwapHalves(LoadWords(words_, (word + K - 1) % K));
    if (word == 0) before = PreviousPair(before);
    return Halves(SwapHalves(LoadWords(words_, word)), before);
  }

  const uint32_t* const words_;
  const int16_t* const x_;
  Vec word_[K], early_[K];
  Vec x_of_row_[kTile];
  Vec lanes_of_step_[kSteps];  // state, hash, byte sums of its halves, product: whatever the step has come to
};

template <uint32_t K>
void SumOneRow(const uint32_t* strip, Dim blocks, const std::byte* x, Dim, float* sums) {
  const Int16Row row(x, blocks * kInt16Block);
  for (Dim b = 0; b < blocks; ++b, strip += kBlockTiles * 64 * K) {
    const __m256 scale = _mm256_set1_ps(row.scales[b]);
    for (Dim group = 0; group < 8; ++group) {
      Vec first = _mm256_set1_epi32(row.starts[b]), second = first;
      const uint32_t* tile = strip + group * 8 * K;
      const char* ahead = reinterpret_cast<const char*>(strip) + kInt16Ahead + group * kBlockTiles * 32 * K;
      for (Dim kt = 0; kt < kBlockTiles; ++kt, tile += 64 * K, ahead += 32 * K) {
        for (Dim byte = 0; byte < 32 * K; byte += 64) _mm_prefetch(ahead + byte, _MM_HINT_T0);
        Tile<K>(tile, row.values + b * kInt16Block + kt * kTile).AddTo(&first, &second);
      }
      float* const out = sums + group * kTile;
      _mm256_store_ps(out, _mm256_fmadd_ps(_mm256_cvtepi32_ps(first), scale, _mm256_load_ps(out)));
      _mm256_store_ps(out + 8, _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), scale, _mm256_load_ps(out + 8)));
    }
  }
}

template <uint32_t K, int>
struct Kernel {
  static constexpr Int16BlocksKernel Run = SumOneRow<K>;
};
constexpr Int16Table<Kernel, 1> kTable;

}  // namespace

void Int16SumsAvx2OneState(const MatrixView& w, Dim strip, const void* x, Dim stride, Dim rows, float* sums) {
  // A second row would cost four more instructions for 16 states, two with two states in a lane.
  if (rows > 1) return Int16SumsAvx2(w, strip, x, stride, rows, sums);
  kTable.Sum(w, strip, x, stride, rows, sums);
}

}  // namespace hearth::kernels
