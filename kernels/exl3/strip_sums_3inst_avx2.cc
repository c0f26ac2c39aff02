#include "kernels/exl3/strip_sums_impl_avx2.h"

namespace hearth::kernels::avx2 {

const Exl3Kernels& ThreeInstKernels() {
  static const Exl3Kernels kernels = MakeKernels<Codebook::k3inst, 1>();
  return kernels;
}

}  // namespace hearth::kernels::avx2
