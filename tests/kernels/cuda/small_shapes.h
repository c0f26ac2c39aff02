#pragma once

#include <cstdlib>

namespace hearth::kernels::testing {

// HEARTH_SMALL_SHAPES=1: under compute-sanitizer a launch takes a thousand times as long. What tests compare stays the
// same; there is less of it.
inline bool SmallShapes() {
  static const char* const value = std::getenv("HEARTH_SMALL_SHAPES");
  return value != nullptr && value[0] == '1';
}

template <typename T>
T Smaller(T full, T small) {
  return SmallShapes() ? small : full;
}

}  // namespace hearth::kernels::testing
