#include "kernels/indexer/indexer.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_dots.h"
#include "kernels/simd/float_buffer.h"
#include "kernels/simd/grain.h"
#include "kernels/simd/top_keys.h"

namespace hearth::kernels::avx2 {
namespace {

constexpr Dim kPoolTile = 32;  // pools scored per pass; bounds the products held at a time
constexpr Dim kMaxGroup = 4;   // heads that share each load of a pool key

float InverseRoot(Dim n) { return 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(static_cast<float>(n)))); }

template <int H, typename Kv>
void Dots(const float* iq, Dim dim, const Kv* const* keys, Dim pools, float* out) {
  Dim j = 0;
  for (; j + 2 <= pools; j += 2) DotTile<H, 2>(iq, dim, keys + j, dim, out + j, kPoolTile, 1);
  if (j < pools) DotTile<H, 1>(iq, dim, keys + j, dim, out + j, kPoolTile, 1);
}

// Scores of pools [first, first + pools): per pool one chain over ascending heads.
template <typename Kv>
void ScoreTile(const IndexSelectArgs& args, Dim row, Dim first, Dim pools, float* score) {
  const Dim dim = args.dim, sequence = args.where.row_sequence[row];
  const float head_scale = InverseRoot(args.heads);
  const __m256 dot_scale = _mm256_set1_ps(InverseRoot(dim));
  const Kv* keys[kPoolTile];
  for (Dim j = 0; j < pools; ++j) {
    keys[j] = static_cast<const Kv*>(args.pool_keys) + args.where.PoolSlot(sequence, first + j, args.kpool) * dim;
  }
  for (Dim j = 0; j < pools; ++j) score[j] = 0.0f;
  alignas(32) float dots[kMaxGroup * kPoolTile] = {};
  for (Dim h = 0; h < args.heads;) {
    const float* iq = args.iq + (row * args.heads + h) * dim;
    const Dim group = args.heads - h >= kMaxGroup ? kMaxGroup : 1;
    if (group == kMaxGroup) {
      Dots<kMaxGroup>(iq, dim, keys, pools, dots);
    } else {
      Dots<1>(iq, dim, keys, pools, dots);
    }
    for (Dim g = 0; g < group; ++g, ++h) {
      const __m256 weight = _mm256_set1_ps(args.head_weight[row * args.heads + h] * head_scale);
      for (Dim j = 0; j < pools; j += kLanes) {
        const __m256 dot = _mm256_mul_ps(_mm256_loadu_ps(dots + g * kPoolTile + j), dot_scale);
        const __m256 clipped = _mm256_max_ps(dot, _mm256_setzero_ps());
        StoreFirst(score + j, pools - j, _mm256_fmadd_ps(weight, clipped, LoadFirst(score + j, pools - j)));
      }
    }
  }
}

template <typename Kv>
void SelectRow(const IndexSelectArgs& args, Dim row) {
  const Dim visible = (args.where.row_position[row] + 1) / args.kpool;
  int32_t* out = args.selected + row * args.max_selected;
  const Dim kept = visible < args.max_selected ? visible : args.max_selected;
  args.selected_count[row] = static_cast<int32_t>(kept);
  if (visible <= args.max_selected) {
    for (Dim pool = 0; pool < kept; ++pool) out[pool] = static_cast<int32_t>(pool);
    return;
  }
  FloatBuffer buffer(visible * 2);
  uint64_t* keys = reinterpret_cast<uint64_t*>(buffer.data());
  // A single row may see many pools: its tiles are tasks too.
  const Dim tiles = (visible + kPoolTile - 1) / kPoolTile;
  ParallelFor(tiles, GrainFor(kPoolTile * args.heads * args.dim), [&](Dim tile) {
    const Dim first = tile * kPoolTile;
    const Dim pools = visible - first < kPoolTile ? visible - first : kPoolTile;
    float score[kPoolTile];
    ScoreTile<Kv>(args, row, first, pools, score);
    for (Dim j = 0; j < pools; ++j) keys[first + j] = RankKey(score[j], static_cast<uint32_t>(first + j));
  });
  TopIndicesAscending(keys, visible, kept, out);
}

}  // namespace

void IndexSelect(void*, const IndexSelectArgs& args) {
  Dim visible = 0;
  for (Dim row = 0; row < args.rows; ++row) {
    const Dim pools = (args.where.row_position[row] + 1) / args.kpool;
    if (pools > args.max_selected && pools > visible) visible = pools;
  }
  ParallelFor(args.rows, GrainFor(visible * args.heads * args.dim + 256), [&](Dim row) {
    if (args.kv_type == KvType::kF16) {
      SelectRow<uint16_t>(args, row);
    } else {
      SelectRow<float>(args, row);
    }
  });
}

}  // namespace hearth::kernels::avx2
