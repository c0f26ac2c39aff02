#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::text {

// Byte-level vocabularies write every byte as one printable character. Returns the bytes that `symbols` (valid UTF-8)
// stands for, or nothing when it has a character outside that alphabet.
std::optional<std::string> BytesFromSymbols(std::string_view symbols);

}  // namespace hearth::text
