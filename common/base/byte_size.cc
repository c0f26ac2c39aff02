#include "common/base/byte_size.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace hearth {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

std::optional<double> UnitBytes(std::string_view unit) {
  std::string lower;
  for (char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.empty() || lower == "b") return 1.0;
  const size_t power = std::string_view("kmgt").find(lower[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(lower).substr(1);
  const int exponent = static_cast<int>(power) + 1;
  if (rest.empty() || rest == "ib") return std::pow(1024.0, exponent);
  if (rest == "b") return std::pow(1000.0, exponent);
  return std::nullopt;
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  // 1023.95 would print as "1024.0", so it already belongs to the next unit.
  while (unit < 4 && value >= (unit == 0 ? 1024.0 : 1023.95)) value /= 1024.0, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string number = text;
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + " " + kUnits[unit];
}

std::optional<uint64_t> ParseBytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const std::optional<double> scale = UnitBytes(unit);
  if (!scale || number * *scale >= kTwoTo64) return std::nullopt;
  return static_cast<uint64_t>(number * *scale);
}

uint64_t GibToBytes(double gib) {
  if (!std::isfinite(gib) || gib <= 0) return 0;
  const double bytes = gib * static_cast<double>(kGiB);
  return bytes >= kTwoTo64 ? UINT64_MAX : static_cast<uint64_t>(bytes);
}

}  // namespace hearth
