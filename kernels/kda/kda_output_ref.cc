#include "kernels/kda/kda.h"
#include "kernels/real_math.h"

namespace hearth::kernels::ref {

void KdaOutput(void*, const KdaOutputArgs& args) {
  const Dim dim = args.dim;
  for (Dim head = 0; head < args.rows * args.heads; ++head) {
    const Real* o = args.o + head * dim;
    const Real* gate = args.gate + head * dim;
    Real* out = args.out + head * dim;
    const Real r = InverseRms(o, dim, args.eps);
    for (Dim c = 0; c < dim; ++c) out[c] = o[c] * r * args.weight[c] * Sigmoid(gate[c]);
  }
}

}  // namespace hearth::kernels::ref
