#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cuda/host_device.h"

namespace hearth::kernels {

// Unsigned numbers in the order of the floats that they stand for; -0 and +0 are one.
HEARTH_HD inline uint32_t OrderedKey(float value) {
  uint32_t bits = 0;
  if (value != 0.0f) memcpy(&bits, &value, sizeof bits);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

}  // namespace hearth::kernels
