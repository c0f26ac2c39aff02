#include "kernels/math/exp.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels::ref {

void Swiglu(void*, const SwigluArgs& args) {
  const Real limit = args.limit;
  for (Dim i = 0; i < args.rows * args.width; ++i) args.out[i] = SwigluReal(args.gate[i], args.up[i], limit);
}

}  // namespace hearth::kernels::ref
