#include <cmath>
#include <vector>

#include "kernels/indexer/indexer.h"
#include "kernels/mla/kv_element.h"

namespace hearth::kernels::ref {
namespace {

// The epsilon is the model's own and has no key.
void LayerNorm(const Real* x, const float* weight, const float* bias, Dim n, Real* out) {
  Real mean = 0, variance = 0;
  for (Dim i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<Real>(n);
  for (Dim i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
  variance /= static_cast<Real>(n);
  const Real deviation = std::sqrt(variance + Real{1e-6});
  for (Dim i = 0; i < n; ++i) out[i] = (x[i] - mean) / deviation * weight[i] + bias[i];
}

// Mixture of the pool's keys in channel c, weighted by the softmax of gate + ape over its tokens.
Real PoolKey(const IndexPoolArgs& args, const Real* tail, Dim c) {
  const Dim dim = args.dim;
  const auto logit = [&](Dim j) { return tail[(2 * j + 1) * dim + c] + args.ape[j * dim + c]; };
  Real top = logit(0);
  for (Dim j = 1; j < args.kpool; ++j) top = std::fmax(top, logit(j));
  Real sum = 0, mixed = 0;
  for (Dim j = 0; j < args.kpool; ++j) {
    const Real weight = std::exp(logit(j) - top);
    sum += weight;
    mixed += weight * tail[2 * j * dim + c];
  }
  return mixed / sum;
}

}  // namespace

void IndexPool(void*, const IndexPoolArgs& args) {
  const Dim dim = args.dim, kpool = args.kpool;
  for (Dim s = 0; s < args.segment_count; ++s) {
    const IndexSegment& segment = args.segments[s];
    for (Dim row = segment.row_begin; row < segment.row_begin + segment.row_count; ++row) {
      const Dim sequence = args.where.row_sequence[row], position = args.where.row_position[row];
      Real* entry = segment.tail + position % kpool * 2 * dim;
      LayerNorm(args.k_raw + row * dim, args.k_weight, args.k_bias, dim, entry);
      for (Dim c = 0; c < dim; ++c) entry[dim + c] = args.gate[row * dim + c];
      if ((position + 1) % kpool != 0) continue;
      const Dim slot = args.where.PoolSlot(sequence, position / kpool, kpool);
      for (Dim c = 0; c < dim; ++c) {
        StoreKv(args.pool_keys, args.kv_type, slot * dim + c, PoolKey(args, segment.tail, c));
      }
    }
  }
}

}  // namespace hearth::kernels::ref
