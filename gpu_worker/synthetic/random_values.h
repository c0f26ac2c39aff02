#pragma once

#include <cstddef>
#include <cstdint>

#include "common/matrix/matrix_view.h"
#include "gpu_worker/loader/tensor_source.h"
#include "kernels/real.h"

namespace hearth {

// Numbers of a tensor as a function of its seed and their position: any part can be made at any time by any thread.

// How the numbers of a tensor are distributed.
struct ValueLaw {
  enum class Kind {
    kBits,     // random bits
    kUniform,  // mean +- amp
    kSigned,   // +- amp, of a size from 0.6 to 1.4 of it
    kWord,     // the 32-bit word `word`
    kVector,   // the values in `values`, fp32
  };
  Kind kind = Kind::kBits;
  double mean = 0, amp = 0;
  uint32_t word = 0;
};

// Elements [begin, end) of a tensor under kBits, kUniform or kSigned; dtype F32, F16, BF16 or, for kBits, a 2-byte
// type.
void FillRandom(uint64_t seed, const ValueLaw& law, DType dtype, uint64_t begin, uint64_t end, void* dst);

// Strips [begin, end) of an EXL3 matrix whose trellis has kBits under `seed`, in the layout of
// common/matrix/matrix_view.h: the words that FillRandom gives in the file's order, each at once in its place. `strips`
// is the first of the matrix.
void FillRandomStrips(uint64_t seed, kernels::Dim in_padded, kernels::Dim out_padded, uint32_t bits, kernels::Dim begin,
                      kernels::Dim end, std::byte* strips);

}  // namespace hearth
