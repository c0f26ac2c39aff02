#pragma once

#include <cstddef>
#include <string>

namespace hearth::testing {

// SHA-256 (FIPS 180-4) as 64 lower-case hex digits.
std::string Sha256Hex(const void* data, size_t size);

}  // namespace hearth::testing
