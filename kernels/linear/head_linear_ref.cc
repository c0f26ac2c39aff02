#include <cmath>

#include "kernels/ref_ops.h"

namespace hearth::kernels::ref {

void HeadLinear(void*, const HeadLinearArgs& args) {
  for (Dim r = 0; r < args.rows; ++r) {
    for (Dim h = 0; h < args.heads; ++h) {
      const Real* x = args.x + (r * args.heads + h) * args.in;
      const float* w = args.w + h * args.in * args.out;
      Real* y = args.y + (r * args.heads + h) * args.out;
      for (Dim c = 0; c < args.out; ++c) y[c] = 0;
      for (Dim k = 0; k < args.in; ++k) {
        for (Dim c = 0; c < args.out; ++c) y[c] = std::fma(x[k], static_cast<Real>(w[k * args.out + c]), y[c]);
      }
    }
  }
}

}  // namespace hearth::kernels::ref
