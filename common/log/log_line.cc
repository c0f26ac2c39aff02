#include "common/log/log_line.h"

#include <cstdio>
#include <ctime>
#include <type_traits>

namespace hearth {
namespace {

bool IsPlain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte != 0x7F && c != '"' && c != '=' && c != '\\';
}

std::string FormatLogValue(const LogValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          return QuoteLogText(v);
        } else if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, double>) {
          char text[32];
          std::snprintf(text, sizeof text, "%.6g", v);
          return text;
        } else {
          return std::to_string(v);
        }
      },
      value.variant());
}

}  // namespace

std::string FormatLogTime(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(ms);
  const std::time_t whole = std::chrono::system_clock::to_time_t(seconds);
  std::tm utc = {};
  ::gmtime_r(&whole, &utc);
  char day[40], text[56];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%03dZ", day, static_cast<int>((ms - seconds).count()));
  return text;
}

std::string QuoteLogText(std::string_view text) {
  bool plain = !text.empty();
  for (char c : text) plain = plain && IsPlain(c);
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < ' ' || byte == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string FormatLogFields(std::span<const LogField> fields, std::string_view without) {
  std::string text;
  for (const LogField& field : fields) {
    if (!without.empty() && field.key == without) continue;
    text.append(" ").append(field.key).append("=").append(FormatLogValue(field.value));
  }
  return text;
}

}  // namespace hearth
