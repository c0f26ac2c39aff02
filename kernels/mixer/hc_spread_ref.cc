#include <vector>

#include "kernels/mixer/mixer.h"

namespace hearth::kernels::ref {

void HcSpread(void*, const HcSpreadArgs& args) {
  const Dim hc = args.hc, hidden = args.hidden;
  std::vector<Real> old(hc);
  for (Dim row = 0; row < args.rows; ++row) {
    Real* streams = args.streams + row * hc * hidden;
    const Real* post = args.post + row * hc;
    const Real* comb = args.comb + row * hc * hc;
    for (Dim d = 0; d < hidden; ++d) {
      for (Dim i = 0; i < hc; ++i) old[i] = streams[i * hidden + d];
      for (Dim j = 0; j < hc; ++j) {
        Real sum = post[j] * args.y[row * hidden + d];
        for (Dim i = 0; i < hc; ++i) sum += comb[i * hc + j] * old[i];
        streams[j * hidden + d] = sum;
      }
    }
  }
}

}  // namespace hearth::kernels::ref
