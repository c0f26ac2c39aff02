#include "kernels/router/router.h"

#include "kernels/parallel.h"
#include "kernels/simd/avx2_dots.h"
#include "kernels/simd/float_buffer.h"
#include "kernels/simd/grain.h"
#include "kernels/simd/top_keys.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kRowTile = 16;
constexpr Dim kExpertStrip = 32;

Dim Least(Dim a, Dim b) { return a < b ? a : b; }

// Chooses from the finished scores of a row. keys has one entry per expert.
void Choose(const RouterArgs& args, Dim row, const float* s, uint64_t* keys) {
  int32_t* ids = args.ids + row * args.top_k;
  for (Dim e = 0; e < args.experts; ++e) keys[e] = RankKey(s[e] + args.bias[e], static_cast<uint32_t>(e));
  TopIndicesAscending(keys, args.experts, args.top_k, ids);
  float sum = 0.0f;
  for (Dim k = 0; k < args.top_k; ++k) sum += s[ids[k]];
  for (Dim k = 0; k < args.top_k; ++k) args.weights[row * args.top_k + k] = args.scale * s[ids[k]] / (sum + 1e-20f);
}

}  // namespace

void Router(void*, const RouterArgs& args) {
  const Dim experts = args.experts, hidden = args.hidden;
  const Dim strips = (experts + kExpertStrip - 1) / kExpertStrip, tiles = (args.rows + kRowTile - 1) / kRowTile;
  FloatBuffer scores(args.rows * experts);
  ParallelFor(tiles * strips, GrainFor(Least(kRowTile, args.rows) * kExpertStrip * hidden), [&](Dim task) {
    const Dim row = task / strips * kRowTile, expert = task % strips * kExpertStrip;
    const Dim rows = Least(kRowTile, args.rows - row), count = Least(kExpertStrip, experts - expert);
    float* out = scores.data() + row * experts + expert;
    DotRows(args.x + row * hidden, hidden, rows, args.weight + expert * hidden, count, hidden, out, experts, 1);
    for (Dim r = 0; r < rows; ++r) {
      for (Dim e = 0; e < count; e += kLanes) {
        float* at = out + r * experts + e;
        StoreFirst(at, count - e, Sigmoid8(LoadFirst(at, count - e)));
      }
    }
  });
  ParallelFor(tiles, GrainFor(kRowTile * experts * 64), [&](Dim tile) {
    FloatBuffer keys(experts * 2);
    for (Dim row = tile * kRowTile; row < Least(args.rows, (tile + 1) * kRowTile); ++row) {
      Choose(args, row, scores.data() + row * experts, reinterpret_cast<uint64_t*>(keys.data()));
    }
  });
}

}  // namespace hearth::kernels::avx2
