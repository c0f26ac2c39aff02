#include "gateway/openai/field_reader.h"

#include <cmath>
#include <limits>

#include "common/base/utf8_prefix.h"
#include "gateway/text/json_text.h"

namespace hearth::openai {

std::string Shown(const OrderedJson& value) {
  constexpr size_t kLongest = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return Utf8Prefix(text::JsonText(value), kLongest);
}

std::optional<int64_t> WholeNumber(const OrderedJson& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) return {};
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return {};
  const double number = value.get<double>();
  if (number != std::floor(number) || std::abs(number) > 9e15) return {};
  return static_cast<int64_t>(number);
}

void FieldReader::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void FieldReader::Fail(const std::string& name, const std::string& what) {
  Fail(InvalidArgument(Path(name), " ", what).WithParam(Path(name)));
}

const OrderedJson* FieldReader::Get(const std::string& name) {
  if (!ok()) return nullptr;
  const OrderedJson* value = text::FindMember(object_, name);
  return value != nullptr && value->is_null() ? nullptr : value;
}

std::optional<bool> FieldReader::Bool(const std::string& name) {
  const OrderedJson* value = Get(name);
  if (value == nullptr) return {};
  if (value->is_boolean()) return value->get<bool>();
  Fail(name, StrCat("is ", Shown(*value), ", expected true or false"));
  return {};
}

std::optional<double> FieldReader::Number(const std::string& name, double low, double high, bool above_low) {
  const OrderedJson* value = Get(name);
  if (value == nullptr) return {};
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (number >= low && number <= high && !(above_low && number == low)) return number;
  Fail(name, StrCat("is ", Shown(*value), ", expected a number ", above_low ? "above " : "from ", text::DoubleText(low),
                    " to ", text::DoubleText(high)));
  return {};
}

std::optional<int64_t> FieldReader::Integer(const std::string& name, int64_t low, int64_t high) {
  const OrderedJson* value = Get(name);
  if (value == nullptr) return {};
  const std::optional<int64_t> number = WholeNumber(*value);
  if (number && *number >= low && *number <= high) return number;
  Fail(name, StrCat("is ", Shown(*value), ", expected a whole number from ", low, " to ", high));
  return {};
}

std::optional<std::string> FieldReader::String(const std::string& name) {
  const OrderedJson* value = Get(name);
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  Fail(name, StrCat("is ", Shown(*value), ", expected a string"));
  return {};
}

const OrderedJson* FieldReader::Object(const std::string& name) {
  const OrderedJson* value = Get(name);
  if (value == nullptr || value->is_object()) return value;
  Fail(name, StrCat("is ", Shown(*value), ", expected an object"));
  return nullptr;
}

const OrderedJson* FieldReader::Array(const std::string& name) {
  const OrderedJson* value = Get(name);
  if (value == nullptr || value->is_array()) return value;
  Fail(name, StrCat("is ", Shown(*value), ", expected a list"));
  return nullptr;
}

}  // namespace hearth::openai
