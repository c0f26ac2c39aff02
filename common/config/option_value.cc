#include "common/config/option_value.h"

#include <cmath>

namespace hearth {
namespace {

template <typename T>
bool ReadReal(std::string_view text, T& value) {
  T read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(read)) return false;
  value = read;
  return true;
}

// The shortest text that reads back as the same number.
template <typename T>
std::string PrintReal(T value) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

struct TimeUnit {
  std::string_view name;
  int64_t ns;
};
constexpr TimeUnit kTimeUnits[] = {{"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000},
                                   {"ms", 1'000'000},        {"us", 1'000},         {"ns", 1}};

}  // namespace

bool ReadOption(std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool ReadOption(std::string_view text, bool& value) {
  for (std::string_view word : {"true", "on", "yes", "1"}) {
    if (text == word) return value = true, true;
  }
  for (std::string_view word : {"false", "off", "no", "0"}) {
    if (text == word) return value = false, true;
  }
  return false;
}

bool ReadOption(std::string_view text, double& value) { return ReadReal(text, value); }
bool ReadOption(std::string_view text, float& value) { return ReadReal(text, value); }

bool ReadOption(std::string_view text, std::vector<std::string>& value) {
  std::vector<std::string> parts;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) return false;
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  value = std::move(parts);
  return true;
}

bool ReadNanoseconds(std::string_view text, std::chrono::nanoseconds& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return false;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty() && number == 0) return value = std::chrono::nanoseconds(0), true;
  for (const TimeUnit& known : kTimeUnits) {
    if (unit != known.name) continue;
    const double ns = std::round(number * static_cast<double>(known.ns));
    if (ns > 9e18) return false;
    return value = std::chrono::nanoseconds(static_cast<int64_t>(ns)), true;
  }
  return false;
}

std::string PrintOption(double value) { return PrintReal(value); }
std::string PrintOption(float value) { return PrintReal(value); }

std::string PrintOption(const std::vector<std::string>& value) {
  std::string text;
  for (const std::string& part : value) text += (text.empty() ? "" : ",") + part;
  return text;
}

std::string PrintNanoseconds(std::chrono::nanoseconds value) {
  if (value.count() == 0) return "0";
  for (const TimeUnit& unit : kTimeUnits) {
    if (value.count() % unit.ns == 0) return std::to_string(value.count() / unit.ns) + std::string(unit.name);
  }
  return std::to_string(value.count()) + "ns";
}

}  // namespace hearth
