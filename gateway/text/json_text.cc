#include "gateway/text/json_text.h"

#include <charconv>
#include <cstdlib>

namespace hearth::text {

std::optional<std::string_view> BigIntegerDigits(const OrderedJson& value) {
  if (!value.is_binary()) return std::nullopt;
  const auto& bytes = value.get_binary();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool IsInteger(const OrderedJson& value) { return value.is_number_integer() || value.is_binary(); }
bool IsNumber(const OrderedJson& value) { return value.is_number() || value.is_binary(); }

const OrderedJson* FindMember(const OrderedJson& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  for (const auto& [key, value] : object.get_ref<const OrderedJson::object_t&>()) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string DoubleText(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  if (e == std::string_view::npos) return std::string(text);  // nan and inf, which no JSON text makes
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(text);  // already "1.5e+16", "1e-05"
  std::string out = text[0] == '-' ? "-" : "";
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

void AppendJsonEscaped(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (byte >= 0x20) {
          out.push_back(c);
        } else {
          out += "\\u00";
          out += {kHex[byte >> 4], kHex[byte & 15]};
        }
    }
  }
}

void AppendJsonString(std::string& out, std::string_view text) {
  out.push_back('"');
  AppendJsonEscaped(out, text);
  out.push_back('"');
}

void AppendJsonText(std::string& out, const OrderedJson& value) {
  switch (value.type()) {
    case OrderedJson::value_t::object: {
      out.push_back('{');
      std::string_view separator;
      for (const auto& [key, member] : value.get_ref<const OrderedJson::object_t&>()) {
        out += separator;
        separator = ", ";
        AppendJsonString(out, key);
        out += ": ";
        AppendJsonText(out, member);
      }
      out.push_back('}');
      return;
    }
    case OrderedJson::value_t::array: {
      out.push_back('[');
      std::string_view separator;
      for (const auto& item : value) {
        out += separator;
        separator = ", ";
        AppendJsonText(out, item);
      }
      out.push_back(']');
      return;
    }
    case OrderedJson::value_t::string:
      return AppendJsonString(out, value.get_ref<const std::string&>());
    case OrderedJson::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return;
    case OrderedJson::value_t::number_integer:
      out += std::to_string(value.get<int64_t>());
      return;
    case OrderedJson::value_t::number_unsigned:
      out += std::to_string(value.get<uint64_t>());
      return;
    case OrderedJson::value_t::number_float:
      out += DoubleText(value.get<double>());
      return;
    case OrderedJson::value_t::binary:
      out += *BigIntegerDigits(value);
      return;
    case OrderedJson::value_t::null:
    case OrderedJson::value_t::discarded:
      out += "null";
      return;
  }
}

std::string JsonText(const OrderedJson& value) {
  std::string out;
  AppendJsonText(out, value);
  return out;
}

}  // namespace hearth::text
