#include <cmath>
#include <vector>

#include "kernels/mixer/hc_weights.h"
#include "kernels/mixer/mixer.h"
#include "kernels/real_math.h"

namespace hearth::kernels::ref {

void HcMix(void*, const HcMixArgs& args) {
  const Dim hc = args.hc, hidden = args.hidden, width = hc * hidden, products = 2 * hc + hc * hc;
  const HcWeightParams params{args.base, args.scale, hc, args.hc_eps, args.iterations};
  std::vector<Real> m(products), pre(hc);
  for (Dim row = 0; row < args.rows; ++row) {
    const Real* v = args.streams + row * width;
    const Real r = InverseRms(v, width, args.rms_eps);
    for (Dim k = 0; k < products; ++k) {
      const float* fn = args.fn + k * width;
      Real sum = 0;
      for (Dim i = 0; i < width; ++i) sum += fn[i] * v[i];
      m[k] = sum * r;
    }
    HcWeights(
        params, m.data(), [](Real z) { return std::exp(z); }, pre.data(), args.post + row * hc,
        args.comb + row * hc * hc);

    Real* x = args.x + row * hidden;
    for (Dim d = 0; d < hidden; ++d) {
      Real sum = 0;
      for (Dim s = 0; s < hc; ++s) sum += pre[s] * v[s * hidden + d];
      x[d] = sum;
    }
    const Real scale = InverseRms(x, hidden, args.rms_eps);
    for (Dim d = 0; d < hidden; ++d) x[d] = x[d] * scale * args.norm_weight[d];
  }
}

}  // namespace hearth::kernels::ref
