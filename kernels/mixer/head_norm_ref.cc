#include "kernels/mixer/mixer.h"
#include "kernels/real_math.h"

namespace hearth::kernels::ref {

void HeadNorm(void*, const HeadNormArgs& args) {
  const Dim hc = args.hc, hidden = args.hidden;
  for (Dim row = 0; row < args.rows; ++row) {
    const Real* streams = args.streams + row * hc * hidden;
    Real* out = args.out + row * hidden;
    for (Dim d = 0; d < hidden; ++d) {
      Real sum = 0;
      for (Dim s = 0; s < hc; ++s) sum += streams[s * hidden + d];
      out[d] = sum / static_cast<Real>(hc);
    }
    const Real r = InverseRms(out, hidden, args.eps);
    for (Dim d = 0; d < hidden; ++d) out[d] = out[d] * r * args.weight[d];
  }
}

}  // namespace hearth::kernels::ref
