#include "kernels/linear/gemv_exl3_cuda.cuh"

namespace hearth::kernels::cuda {

void LaunchExl3Gemv(void* stream, const GemvBatch& table, int first, int count) {
  if (table.rows_most <= 4) {
    LaunchExl3Bits<1, 1>(stream, table, first, count);
  } else {
    LaunchExl3Bits<2, 1>(stream, table, first, count);
  }
}

}  // namespace hearth::kernels::cuda
