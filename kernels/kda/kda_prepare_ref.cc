#include <cmath>

#include "kernels/kda/kda.h"
#include "kernels/real_math.h"

namespace hearth::kernels::ref {
namespace {

// x / sqrt(sum(x^2) + 1e-6) * scale; the epsilon is the model's own and has no key.
void NormaliseHead(Real* x, Dim dim, Real scale) {
  Real sum = 0;
  for (Dim c = 0; c < dim; ++c) sum += x[c] * x[c];
  const Real length = std::sqrt(sum + Real{1e-6});
  for (Dim c = 0; c < dim; ++c) x[c] = x[c] / length * scale;
}

}  // namespace

void KdaPrepare(void*, const KdaPrepareArgs& args) {
  const Dim dim = args.dim, width = args.heads * dim;
  const Real q_scale = Real{1} / std::sqrt(static_cast<Real>(dim));
  for (Dim row = 0; row < args.rows; ++row) {
    for (Dim h = 0; h < args.heads; ++h) {
      Real* q = args.qkv + row * 3 * width + h * dim;
      NormaliseHead(q, dim, q_scale);
      NormaliseHead(q + width, dim, Real{1});
      const Real rate = std::exp(static_cast<Real>(args.a_log[h]));
      for (Dim c = h * dim; c < (h + 1) * dim; ++c) {
        args.g[row * width + c] = args.lower_bound * Sigmoid(rate * (args.f[row * width + c] + args.dt_bias[c]));
      }
      args.beta[row * args.heads + h] = Sigmoid(args.b[row * args.heads + h]);
    }
  }
}

}  // namespace hearth::kernels::ref
