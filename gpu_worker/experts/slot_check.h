#pragma once

#include <cstdint>

namespace hearth {

// How far a comparison of cache slots with the home has come.
struct SlotCheck {
  uint32_t next_slot = 0;
  uint32_t compared = 0, different = 0;
};

}  // namespace hearth
