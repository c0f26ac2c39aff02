#pragma once

#include <cstdint>

#include "common/base/float16.h"
#include "common/matrix/matrix_view.h"
#include "kernels/cuda/host_device.h"

namespace hearth::kernels::cuda {

// A warp decodes one EXL3 tile of a strip into the B operands of two mma.m16n8k16 (f16): lane 4c+p holds the weights of
// column c (first product) and column c+8 (second one), rows 2p, 2p+1, 2p+8, 2p+9. These are the eight states
// 8(4c+p) .. 8(4c+p)+7 of the tile's bit string, which end in word (8K(p+1)-1)/32 of column pair c.
// Everything but the intrinsics also compiles for the host, where the tests compare all tiles and states.

// Row and column in the tile of the j-th state (0..7) that a lane decodes.
HEARTH_HD inline int Exl3LaneRow(int lane, int j) { return 2 * (lane & 3) + (j & 1) + 8 * ((j >> 1) & 1); }
HEARTH_HD inline int Exl3LaneColumn(int lane, int j) { return (lane >> 2) + 8 * (j >> 2); }

// Low word of (high:low) >> shift, shift 0..31.
HEARTH_HD inline uint32_t FunnelRight(uint32_t low, uint32_t high, uint32_t shift) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, shift);
#else
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> shift);
#endif
}

// Where a lane finds its states in any tile of K bits; made once per thread.
template <int K>
struct Exl3Lane {
  static_assert(K >= 1 && K <= 8);
  static constexpr int kTileWords = 8 * K;
  static constexpr int kWords = K <= 4 ? 2 : 3;  // words that the eight windows touch

  int offset[kWords];  // the word with the last bit, and those before it
  uint32_t shift;      // bits of that word behind the last state

  HEARTH_HD explicit Exl3Lane(int lane) {
    const int pair = lane >> 2;
    const int end = 8 * K * ((lane & 3) + 1);
    const int last = (end - 1) / 32;
    shift = static_cast<uint32_t>(32 * (last + 1) - end);
    for (int i = 0; i < kWords; ++i) {
      // The string is circular: before pair c comes the last word of pair c-1, before pair 0 that of pair 7.
      const int word = last - i;
      offset[i] = word >= 0 ? word * 8 + pair : (word + K) * 8 + ((pair + 7) & 7);
    }
  }

  // `tile` points at the tile's 8 K words in strip layout.
  HEARTH_HD void States(const uint32_t* tile, uint32_t (&state)[8]) const {
    const uint32_t w0 = tile[offset[0]], w1 = tile[offset[1]];
    uint32_t bits[3];  // the string up to the last state, last bit lowest
    bits[0] = FunnelRight(w0, w1, shift);
    if constexpr (kWords == 2) {
      bits[1] = w1 >> shift;
      bits[2] = 0;
    } else {
      const uint32_t w2 = tile[offset[2]];
      bits[1] = FunnelRight(w1, w2, shift);
      bits[2] = w2 >> shift;
    }
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int j = 0; j < 8; ++j) {
      const int behind = K * (7 - j);
      const int word = behind / 32, bit = behind % 32;
      const uint32_t window = bit <= 16 ? bits[word] >> bit : FunnelRight(bits[word], bits[word + 1], bit);
      state[j] = window & 0xFFFF;
    }
  }
};

// What a codebook does with a state. MCG and 3INST differ in two constants only.
struct Exl3Hash {
  uint32_t multiplier, addend;
};
HEARTH_HD inline Exl3Hash Exl3HashOf(Codebook codebook) {
  switch (codebook) {
    case Codebook::kMcg:
      return {0xCBAC1FEDu, 0};
    case Codebook::k3inst:
      return {89226354u, 64248484u};
    case Codebook::kMul1:
      break;
  }
  return {0x83DCD12Du, 0};
}

// f16 weights of two states, the first one in the low half.
template <bool kMul1>
HEARTH_HD inline uint32_t Exl3WeightPair(Exl3Hash hash, uint32_t state0, uint32_t state1) {
  if constexpr (kMul1) {
    const uint32_t x0 = state0 * 0x83DCD12Du, x1 = state1 * 0x83DCD12Du;
#ifdef __CUDA_ARCH__
    // 0x6400 + S are the bits of 1024 + S in f16; one fma with one rounding makes the weight.
    const uint32_t sum0 = __dp4a(x0, 0x01010101u, 0x6400u), sum1 = __dp4a(x1, 0x01010101u, 0x6400u);
    uint32_t weights;
    asm("fma.rn.f16x2 %0, %1, %2, %3;"
        : "=r"(weights)
        : "r"(__byte_perm(sum0, sum1, 0x5410)), "r"(0x1EEE1EEEu), "r"(0xC931C931u));
    return weights;
#else
    const auto weight = [](uint32_t x) {
      const uint32_t sum = (x & 255) + ((x >> 8) & 255) + ((x >> 16) & 255) + (x >> 24);
      return static_cast<uint32_t>(FloatToF16(static_cast<float>(sum) * 0.00676727294921875f - 3.453125f));
    };
    return weight(x1) << 16 | weight(x0);
#endif
  } else {
    const uint32_t h0 = ((state0 * hash.multiplier + hash.addend) & 0x8FFF8FFFu) ^ 0x3B603B60u;
    const uint32_t h1 = ((state1 * hash.multiplier + hash.addend) & 0x8FFF8FFFu) ^ 0x3B603B60u;
#ifdef __CUDA_ARCH__
    const uint32_t low = __byte_perm(h0, h1, 0x5410), high = __byte_perm(h0, h1, 0x7632);
    uint32_t weights;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(weights) : "r"(low), "r"(high));
    return weights;
#else
    const auto weight = [](uint32_t h) {
      return static_cast<uint32_t>(
          FloatToF16(F16ToFloat(static_cast<uint16_t>(h)) + F16ToFloat(static_cast<uint16_t>(h >> 16))));
    };
    return weight(h1) << 16 | weight(h0);
#endif
  }
}

// The lane's weights of one tile: b[0], b[1] are the B operand for columns 0..7, b[2], b[3] for columns 8..15.
template <int K, bool kMul1>
HEARTH_HD inline void Exl3TileOperands(const Exl3Lane<K>& lane, Exl3Hash hash, const uint32_t* tile, uint32_t (&b)[4]) {
  uint32_t state[8];
  lane.States(tile, state);
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int i = 0; i < 4; ++i) b[i] = Exl3WeightPair<kMul1>(hash, state[2 * i], state[2 * i + 1]);
}

}  // namespace hearth::kernels::cuda
