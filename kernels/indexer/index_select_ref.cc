#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/indexer/indexer.h"
#include "kernels/mla/kv_element.h"

namespace hearth::kernels::ref {
namespace {

Real Score(const IndexSelectArgs& args, Dim row, Dim pool) {
  const Dim dim = args.dim;
  const Dim slot = args.where.PoolSlot(args.where.row_sequence[row], pool, args.kpool);
  const Real head_scale = Real{1} / std::sqrt(static_cast<Real>(args.heads));
  const Real dot_scale = Real{1} / std::sqrt(static_cast<Real>(dim));
  Real score = 0;
  for (Dim h = 0; h < args.heads; ++h) {
    const Real* iq = args.iq + (row * args.heads + h) * dim;
    Real dot = 0;
    for (Dim c = 0; c < dim; ++c) dot += iq[c] * LoadKv(args.pool_keys, args.kv_type, slot * dim + c);
    score += args.head_weight[row * args.heads + h] * head_scale * std::max(Real{0}, dot * dot_scale);
  }
  return score;
}

}  // namespace

void IndexSelect(void*, const IndexSelectArgs& args) {
  std::vector<Real> score;
  std::vector<int32_t> order;
  for (Dim row = 0; row < args.rows; ++row) {
    const Dim visible = (args.where.row_position[row] + 1) / args.kpool;
    const Dim kept = std::min(visible, args.max_selected);
    order.resize(visible);
    std::iota(order.begin(), order.end(), 0);
    if (visible > args.max_selected) {
      score.resize(visible);
      for (Dim pool = 0; pool < visible; ++pool) score[pool] = Score(args, row, pool);
      // Stable: of equal scores the lower pool stays in front.
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return score[a] > score[b]; });
      std::sort(order.begin(), order.begin() + kept);
    }
    std::copy_n(order.begin(), kept, args.selected + row * args.max_selected);
    args.selected_count[row] = static_cast<int32_t>(kept);
  }
}

}  // namespace hearth::kernels::ref
