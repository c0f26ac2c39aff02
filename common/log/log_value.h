#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace hearth {

// A printable value of a log field. Text is referred to, not copied: it must live until Log() returns, as every
// temporary in the call does. Durations print as seconds.
class LogValue {
 public:
  LogValue(const char* text) : value_(std::string_view(text != nullptr ? text : "")) {}
  LogValue(std::string_view text) : value_(text) {}
  LogValue(const std::string& text) : value_(std::string_view(text)) {}
  LogValue(bool flag) : value_(flag) {}
  LogValue(double number) : value_(number) {}
  template <std::signed_integral T>
  LogValue(T number) : value_(static_cast<int64_t>(number)) {}
  template <std::unsigned_integral T>
  LogValue(T number) : value_(static_cast<uint64_t>(number)) {}
  template <typename Rep, typename Period>
  LogValue(std::chrono::duration<Rep, Period> time) : value_(std::chrono::duration<double>(time).count()) {}

  const auto& variant() const { return value_; }

 private:
  std::variant<std::string_view, bool, double, int64_t, uint64_t> value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};

}  // namespace hearth
