#include "kernels/exl3/strip_sums_impl_avx2.h"

namespace hearth::kernels::avx2 {

const Exl3Kernels& Mul1Kernels() {
  static const Exl3Kernels kernels = MakeKernels<Codebook::kMul1, 4>();
  return kernels;
}

}  // namespace hearth::kernels::avx2
