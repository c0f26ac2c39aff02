#include "kernels/norm/norm.h"
#include "kernels/real_math.h"

namespace hearth::kernels::ref {

void RmsNorm(void*, const RmsNormArgs& args) {
  for (Dim row = 0; row < args.rows; ++row) {
    const Real* x = args.x + row * args.dim;
    Real* out = args.out + row * args.dim;
    const Real r = InverseRms(x, args.dim, args.eps);
    for (Dim i = 0; i < args.dim; ++i) out[i] = x[i] * r * args.weight[i];
  }
}

}  // namespace hearth::kernels::ref
