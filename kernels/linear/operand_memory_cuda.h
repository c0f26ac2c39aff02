#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/real.h"

namespace hearth::kernels::cuda {

// Bounds of what a prefill op holds in scratch, which fix how much is done at a time.
constexpr size_t kOperandRowsBytes = size_t{128} << 20;
constexpr size_t kOperandTilesBytes = size_t{256} << 20;

// What a prefill op needs for its operands, in elements.
struct OperandSizes {
  Dim rows = 0;  // fp16 numbers
  Dim row_scales = 0;
  Dim tiles = 0;  // 16-byte pieces
  Dim column_scales = 0;
  Dim gate = 0, up = 0;  // rows between the two halves of an expert
  Dim row_lists = 0;
};

// The arrays, cut out of the scratch that all ops share (kernels/cuda/scratch.h).
struct OperandMemory {
  __half* rows;
  float* row_scales;
  uint4* tiles;
  float* column_scales;
  float* gate;
  float* up;
  int32_t* row_lists;

  OperandMemory(void* stream, const OperandSizes& sizes);
};

}  // namespace hearth::kernels::cuda
