#pragma once

#include <cstddef>
#include <span>

namespace hearth::bench {

// Reads all bytes once, as fast as one core can.
void PlainRead(std::span<const std::byte> bytes);

}  // namespace hearth::bench
