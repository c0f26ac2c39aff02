#include "kernels/linear/gemv_exl3_cuda.cuh"

namespace hearth::kernels::cuda {

void LaunchExl3Gemv(void* stream, const GemvWide& table, int first, int count) {
  LaunchExl3Bits<8, 1>(stream, table, first, count);
}

}  // namespace hearth::kernels::cuda
