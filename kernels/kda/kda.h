#pragma once

#include "kernels/real.h"

namespace hearth::kernels {

// Gated delta-rule linear attention. W = heads * dim; qkv rows are q, k, v one after the other, [rows, 3W].
// Formulas: docs/model.md, "KDA".

constexpr Dim kMaxConvTaps = 16;  // of the short convolution, that every backend has room for

// Consecutive rows [row_begin, row_begin + row_count) of one sequence.
struct KdaSegment {
  Dim row_begin = 0;
  Dim row_count = 0;
  Dim position = 0;         // absolute position of the first row
  Real* history = nullptr;  // [taps - 1, 3W] raw projections, oldest first; updated
  Real* state = nullptr;    // [heads, dim (key), dim (value)]; updated
};

// Depthwise causal convolution and silu over the raw projections; updates each segment's history. out may not be raw.
struct ShortConvArgs {
  const Real* raw = nullptr;      // [rows, channels]
  const float* weight = nullptr;  // [channels, taps], the last tap meets the current row
  const KdaSegment* segments = nullptr;
  Dim segment_count = 0;
  Dim channels = 0, taps = 0;
  Real* out = nullptr;  // [rows, channels]
};

// Normalises q and k per head in place (q also times dim^-0.5), and forms log-decay and step size:
// g = lower_bound * sigma(exp(A_log[h]) * (f + dt_bias)), beta = sigma(b).
struct KdaPrepareArgs {
  Real* qkv = nullptr;             // [rows, 3W]
  const Real* f = nullptr;         // [rows, W]
  const Real* b = nullptr;         // [rows, heads]
  const float* a_log = nullptr;    // [heads]
  const float* dt_bias = nullptr;  // [W]
  float lower_bound = 0;
  Dim rows = 0, heads = 0, dim = 0;
  Real* g = nullptr;     // [rows, W]
  Real* beta = nullptr;  // [rows, heads]
};

// The delta rule over prepared rows. `recurrent` walks token by token (decode); `chunked` works in blocks that begin
// at absolute multiples of 64 (prefill), state in fp32 between them. The two agree within rounding, not bit for bit.
struct KdaRuleArgs {
  const Real* qkv = nullptr;   // [rows, 3W], prepared
  const Real* g = nullptr;     // [rows, W]
  const Real* beta = nullptr;  // [rows, heads]
  const KdaSegment* segments = nullptr;
  Dim segment_count = 0;
  Dim heads = 0, dim = 0;
  Real* o = nullptr;  // [rows, W]
};
constexpr Dim kKdaBlock = 64;

// out = RMSNorm per head(o; weight shared by all heads) * sigma(gate). out may be o.
struct KdaOutputArgs {
  const Real* o = nullptr;        // [rows, W]
  const Real* gate = nullptr;     // [rows, W]
  const float* weight = nullptr;  // [dim]
  float eps = 0;
  Dim rows = 0, heads = 0, dim = 0;
  Real* out = nullptr;  // [rows, W]
};

}  // namespace hearth::kernels
