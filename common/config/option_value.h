#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// How the types of option values are read and printed. Read...() returns false for text that is not such a value and
// then leaves `value` alone; the whole text must belong to the value. Printed text reads back as the same value.
//   bool            true/false, on/off, yes/no, 1/0
//   numbers         decimal, within the type's range; no infinity, no NaN
//   durations       number and unit, "250us", "500ms", "1.5s", "2m", "1h", or "0"; must be a whole number of ticks
//   lists           texts separated by commas; "" is the empty list
//   optional<T>     a T, or "auto" for none

bool ReadOption(std::string_view text, std::string& value);
bool ReadOption(std::string_view text, bool& value);
bool ReadOption(std::string_view text, double& value);
bool ReadOption(std::string_view text, float& value);
bool ReadOption(std::string_view text, std::vector<std::string>& value);
bool ReadNanoseconds(std::string_view text, std::chrono::nanoseconds& value);

template <std::integral T>
bool ReadOption(std::string_view text, T& value) {
  T read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  value = read;
  return true;
}

template <typename Rep, typename Period>
bool ReadOption(std::string_view text, std::chrono::duration<Rep, Period>& value) {
  std::chrono::nanoseconds read;
  if (!ReadNanoseconds(text, read)) return false;
  const auto ticks = std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(read);
  if (ticks != read) return false;
  value = ticks;
  return true;
}

template <typename T>
bool ReadOption(std::string_view text, std::optional<T>& value) {
  T read{};
  const bool automatic = text == "auto";
  if (!automatic && !ReadOption(text, read)) return false;
  value = automatic ? std::nullopt : std::optional<T>(std::move(read));
  return true;
}

inline std::string PrintOption(const std::string& value) { return value; }
inline std::string PrintOption(bool value) { return value ? "true" : "false"; }
std::string PrintOption(double value);
std::string PrintOption(float value);
std::string PrintOption(const std::vector<std::string>& value);
std::string PrintNanoseconds(std::chrono::nanoseconds value);

template <std::integral T>
std::string PrintOption(T value) {
  return std::to_string(value);
}
template <typename Rep, typename Period>
std::string PrintOption(std::chrono::duration<Rep, Period> value) {
  return PrintNanoseconds(value);
}
template <typename T>
std::string PrintOption(const std::optional<T>& value) {
  return value ? PrintOption(*value) : "auto";
}

// What a person is to write, for messages ("expected ...") and for help.
struct ValueWords {
  std::string expected;     // "a whole number, 0 or more"
  std::string placeholder;  // "N"
};

inline ValueWords Words(const std::string&) { return {"text", "TEXT"}; }
inline ValueWords Words(const bool&) { return {"true or false", "BOOL"}; }
inline ValueWords Words(const double&) { return {"a number", "X"}; }
inline ValueWords Words(const float&) { return {"a number", "X"}; }
inline ValueWords Words(const std::vector<std::string>&) { return {"texts separated by commas", "A,B"}; }
template <std::integral T>
ValueWords Words(const T&) {
  // The limits of 64 bits tell a reader nothing.
  if constexpr (sizeof(T) >= 8) return {std::is_signed_v<T> ? "a whole number" : "a whole number, 0 or more", "N"};
  return {"a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
              std::to_string(std::numeric_limits<T>::max()),
          "N"};
}
template <typename Rep, typename Period>
ValueWords Words(const std::chrono::duration<Rep, Period>&) {
  return {"a duration such as 500ms, 10s, 2m", "TIME"};
}
template <typename T>
ValueWords Words(const std::optional<T>&) {
  ValueWords words = Words(T{});
  return {words.expected + ", or auto", words.placeholder};
}

}  // namespace hearth
