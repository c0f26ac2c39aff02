#pragma once

#include <cstdint>

#include "common/matrix/matrix_view.h"
#include "kernels/real.h"

namespace hearth::kernels {

// A rotated row in 15 bits, sign included, with one scale per block of 128 inputs: what the int16 expert kernels read.
// The codebook MUL1 is an affine function of an integer S, the byte sum of a hash, w = alpha S - 3.453125 before it is
// rounded to fp16. With x = q a, a in -16383..16383,
//     sum over a block of x w = q alpha (sum of a S - 510 sum of a) + q (510 alpha - 3.453125) (sum of a),
// where all sums but the last product are exact in int32: |a| 1005 128 < 2^31, and so is every partial sum that starts
// at -510 sum of a. Leaving out the rounding of the codebook costs 2e-4 of a matrix' output.
constexpr Dim kInt16Block = 128;
constexpr int32_t kInt16Largest = 16383;
constexpr float kInt16Least = 1e-30f;  // a block without a larger value counts as zero

constexpr float kMul1Alpha = 0.00676727294921875f;
constexpr float kMul1Rest = 510 * kMul1Alpha - 3.453125f;  // exact

// In memory: values [blocks][128], scales [blocks], starts [blocks]; takes less than the row in fp32.
struct Int16Row {
  int16_t* values;  // order of kExl3RowOrder inside a tile
  float* scales;    // q alpha
  int32_t* starts;  // -510 sum of a

  // Inlined everywhere, also into files for one instruction set: a copy of theirs must not serve others.
  __attribute__((always_inline)) Int16Row(const void* memory, Dim inputs)
      : values(static_cast<int16_t*>(const_cast<void*>(memory))),
        scales(reinterpret_cast<float*>(values + inputs)),
        starts(reinterpret_cast<int32_t*>(scales + inputs / kInt16Block)) {}
};

// One block of a row in fp32 -> values, scale, start. a = round to nearest even of x / q, q = max |x| / 16383. A block
// that is not finite becomes zeros with a scale of NaN, one below kInt16Least becomes zeros. Both give the same bits.
void QuantizeBlockRef(const float* x, int16_t* values, float* scale, int32_t* start);
namespace avx2 {
void QuantizeBlock(const float* x, int16_t* values, float* scale, int32_t* start);
}

}  // namespace hearth::kernels
