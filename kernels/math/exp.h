#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/real.h"

namespace hearth::kernels {

// exp, sigmoid and silu of the ops. ExpReal is a fixed sequence of float operations, so that its eight-lane twin
// (exp_avx2.h) has the same bits in every lane; in double builds it is std::exp. Within 1.5 units in the last place;
// 0 below about -87.3 (results are never subnormal), infinity above about 88.7, NaN for NaN.
namespace exp_constants {
constexpr float kLog2e = 0x1.715476p+0f;
constexpr float kRoundMagic = 0x1.8p+23f;  // adding it rounds to an integer in the low mantissa bits
constexpr float kLn2High = 0x1.62e4p-1f;   // 16 bits: its product with |n| <= 128 is exact
constexpr float kLn2Low = 0x1.7f7d1cp-20f;
constexpr float kQ0 = 0x1p-1f;  // exp(r) = 1 + r + r^2 (q0 + q1 r + .. + q4 r^4), |r| <= ln2/2
constexpr float kQ1 = 0x1.5554dcp-3f;
constexpr float kQ2 = 0x1.555518p-5f;
constexpr float kQ3 = 0x1.120ce4p-7f;
constexpr float kQ4 = 0x1.6d127ep-10f;
constexpr float kOverflow = 0x1.62e42ep+6f;  // largest x with finite exp
constexpr float kUnderflow = -87.336540f;    // smallest x whose exp is a normal number
}  // namespace exp_constants

// Not `inline` with external linkage: this header is used by files of different instruction sets.
static inline float ExpFloat(float x) {
  using namespace exp_constants;
  if (x != x) return x;
  if (x > kOverflow) return std::numeric_limits<float>::infinity();
  if (x < kUnderflow) return 0.0f;
  const float shifted = std::fma(x, kLog2e, kRoundMagic);
  const float n = shifted - kRoundMagic;
  float r = std::fma(n, -kLn2High, x);
  r = std::fma(n, -kLn2Low, r);
  float q = std::fma(kQ4, r, kQ3);
  q = std::fma(q, r, kQ2);
  q = std::fma(q, r, kQ1);
  q = std::fma(q, r, kQ0);
  const float p = std::fma(r * r, q, r) + 1.0f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23));
}

static inline Real ExpReal(Real x) {
#ifdef HEARTH_REAL_DOUBLE
  return std::exp(x);
#else
  return ExpFloat(x);
#endif
}

// 1 / (1 + exp(-x)); exp only ever sees -|x|, so nothing overflows.
static inline Real SigmoidReal(Real x) {
  const Real e = ExpReal(-std::fabs(x));
  return (x < Real{0} ? e : Real{1}) / (Real{1} + e);
}

// x * sigmoid(x)
static inline Real SiluReal(Real x) { return x * SigmoidReal(x); }

// silu(min(gate, limit)) * clamp(up, -limit, limit); NaN passes through.
static inline Real SwigluReal(Real gate, Real up, Real limit) {
  const Real g = gate > limit ? limit : gate;
  const Real high = up > limit ? limit : up;
  return SiluReal(g) * (high < -limit ? -limit : high);
}

}  // namespace hearth::kernels
