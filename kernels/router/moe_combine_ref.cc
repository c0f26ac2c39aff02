#include <cmath>

#include "kernels/router/router.h"

namespace hearth::kernels::ref {

void MoeCombine(void*, const MoeCombineArgs& args) {
  for (Dim row = 0; row < args.rows; ++row) {
    for (Dim d = 0; d < args.hidden; ++d) {
      Real sum = 0;
      for (Dim k = 0; k < args.top_k; ++k) {
        const Dim pick = row * args.top_k + k;
        sum = std::fma(args.weights[pick], args.pick_out[pick * args.hidden + d], sum);
      }
      args.y[row * args.hidden + d] = sum + args.shared[row * args.hidden + d];
    }
  }
}

}  // namespace hearth::kernels::ref
