#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

// "17 B", "1.5 KiB", "2 GiB": the largest binary unit that keeps the number at 1 or more, at most one decimal.
std::string FormatBytes(uint64_t bytes);

// Reads "1.5 GiB", "64KiB", "2g", "1000", "3 GB": binary units for KiB/K, MiB/M, GiB/G, TiB/T; decimal units for KB,
// MB, GB, TB; letter case is free. Nothing for other text, negative numbers and sizes that do not fit 64 bits.
std::optional<uint64_t> ParseBytes(std::string_view text);

// Bytes of a size that an option gives as a number of GiB. Negative and non-finite numbers give 0.
uint64_t GibToBytes(double gib);

}  // namespace hearth
