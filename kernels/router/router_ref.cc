#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/real_math.h"
#include "kernels/router/router.h"

namespace hearth::kernels::ref {

void Router(void*, const RouterArgs& args) {
  std::vector<Real> s(args.experts);
  std::vector<int32_t> order(args.experts);
  for (Dim row = 0; row < args.rows; ++row) {
    const Real* x = args.x + row * args.hidden;
    for (Dim e = 0; e < args.experts; ++e) {
      Real logit = 0;
      for (Dim i = 0; i < args.hidden; ++i) logit += args.weight[e * args.hidden + i] * x[i];
      s[e] = Sigmoid(logit);
    }
    std::iota(order.begin(), order.end(), 0);
    // Stable: of equal values the lower expert stays in front.
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return s[a] + args.bias[a] > s[b] + args.bias[b]; });
    std::sort(order.begin(), order.begin() + args.top_k);

    Real sum = 0;
    for (Dim k = 0; k < args.top_k; ++k) sum += s[order[k]];
    for (Dim k = 0; k < args.top_k; ++k) {
      args.ids[row * args.top_k + k] = order[k];
      args.weights[row * args.top_k + k] = args.scale * s[order[k]] / (sum + Real{1e-20});
    }
  }
}

}  // namespace hearth::kernels::ref
