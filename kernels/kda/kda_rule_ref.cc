#include <cmath>
#include <vector>

#include "kernels/kda/kda.h"

namespace hearth::kernels::ref {
namespace {

// One token of one head. S is [dim (key), dim (value)].
void Step(const Real* q, const Real* k, const Real* v, const Real* g, Real beta, Dim dim, Real* S, Real* u, Real* o) {
  for (Dim d = 0; d < dim; ++d) u[d] = v[d];
  for (Dim c = 0; c < dim; ++c) {
    const Real decay = std::exp(g[c]);
    for (Dim d = 0; d < dim; ++d) {
      S[c * dim + d] *= decay;
      u[d] -= k[c] * S[c * dim + d];
    }
  }
  for (Dim d = 0; d < dim; ++d) u[d] *= beta;
  for (Dim d = 0; d < dim; ++d) o[d] = 0;
  for (Dim c = 0; c < dim; ++c) {
    for (Dim d = 0; d < dim; ++d) {
      S[c * dim + d] += k[c] * u[d];
      o[d] += q[c] * S[c * dim + d];
    }
  }
}

}  // namespace

void KdaRecurrent(void*, const KdaRuleArgs& args) {
  const Dim dim = args.dim, width = args.heads * dim;
  std::vector<Real> u(dim);
  for (Dim s = 0; s < args.segment_count; ++s) {
    const KdaSegment& segment = args.segments[s];
    for (Dim row = segment.row_begin; row < segment.row_begin + segment.row_count; ++row) {
      for (Dim h = 0; h < args.heads; ++h) {
        const Real* q = args.qkv + row * 3 * width + h * dim;
        const Dim at = row * width + h * dim;
        Step(q, q + width, q + 2 * width, args.g + at, args.beta[row * args.heads + h], dim,
             segment.state + h * dim * dim, u.data(), args.o + at);
      }
    }
  }
}

// The recurrence is what the blocked form must equal, so here it serves for both.
void KdaChunked(void* stream, const KdaRuleArgs& args) { KdaRecurrent(stream, args); }

}  // namespace hearth::kernels::ref
