#include <cuda_fp16.h>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda_ops.h"

namespace hearth::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;  // loads in flight: the table may lie in host memory

__device__ inline float Element(const void* table, WeightKind kind, Dim i) {
  if (kind == WeightKind::kF32) return static_cast<const float*>(table)[i];
  const uint16_t bits = static_cast<const uint16_t*>(table)[i];
  if (kind == WeightKind::kF16) return __half2float(__ushort_as_half(bits));
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

// grid (parts of a row, rows)
__global__ void __launch_bounds__(kThreads) EmbedKernel(EmbedArgs args) {
  const Dim row = blockIdx.y;
  const Dim source = args.ids[row] * args.hidden;
  const Dim first = Dim{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;
  float value[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const Dim d = first + i * kThreads;
    if (d < args.hidden) value[i] = Element(args.table, args.kind, source + d);
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const Dim d = first + i * kThreads;
    if (d >= args.hidden) break;
    for (Dim h = 0; h < args.hc; ++h) args.streams[(row * args.hc + h) * args.hidden + d] = value[i];
  }
}

}  // namespace

void Embed(void* stream, const EmbedArgs& args) {
  if (args.rows == 0 || args.hidden == 0) return;
  constexpr Dim kMostRows = 65535;  // of a grid
  EmbedArgs part = args;
  for (Dim done = 0; done < args.rows; done += part.rows) {
    part.rows = args.rows - done < kMostRows ? args.rows - done : kMostRows;
    part.ids = args.ids + done;
    part.streams = args.streams + done * args.hc * args.hidden;
    const dim3 grid(static_cast<unsigned>((args.hidden + kThreads * kPerThread - 1) / (kThreads * kPerThread)),
                    static_cast<unsigned>(part.rows));
    EmbedKernel<<<grid, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(part);
    LaunchedOrDie("embed");
  }
}

}  // namespace hearth::kernels::cuda
