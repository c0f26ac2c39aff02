#include "kernels/exl3/strip_sums_impl_avx2.h"

namespace hearth::kernels::avx2 {

const Exl3Kernels& McgKernels() {
  static const Exl3Kernels kernels = MakeKernels<Codebook::kMcg, 1>();
  return kernels;
}

}  // namespace hearth::kernels::avx2
