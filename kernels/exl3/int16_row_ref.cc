#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/exl3/int16_row.h"

namespace hearth::kernels {

void QuantizeBlockRef(const float* x, int16_t* values, float* scale, int32_t* start) {
  uint32_t largest = 0;  // as bits, which puts NaN above all
  for (Dim i = 0; i < kInt16Block; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu);
  const float most = std::bit_cast<float>(largest);
  std::fill_n(values, kInt16Block, int16_t{0});
  *start = 0;
  *scale = std::isfinite(most) ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  if (!(most >= kInt16Least && std::isfinite(most))) return;
  *scale = most * (kMul1Alpha / kInt16Largest);
  const float inverse = kInt16Largest / most;
  int32_t sum = 0;
  for (Dim i = 0; i < kInt16Block; ++i) {
    values[i] = static_cast<int16_t>(std::lrintf(x[i] * inverse));
    sum += values[i];
  }
  *start = -510 * sum;
}

}  // namespace hearth::kernels
