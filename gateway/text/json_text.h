#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/base/result.h"

namespace hearth::text {

using OrderedJson = nlohmann::ordered_json;

// Values in one text, containers included. Each costs some tens of bytes, so this bounds what a small text can take.
inline constexpr int64_t kMaxJsonValues = 2'000'000;
inline constexpr int kMaxJsonDepth = 64;
// Reads one JSON document and loses nothing of it that the prompt shows. Integers beyond 64 bits become a binary value
// (JSON text has no other use for that type) whose bytes are their digits; see BigIntegerDigits. Of members with the
// same name the last value stays, at the place of the first; `repeated`, where given, gets the first such name. Refuses
// invalid UTF-8, lone surrogates, NaN and Infinity, numbers outside the range of a double (integers have no limit), more
// than `kMaxJsonDepth` levels or `kMaxJsonValues` values, anything after the value. The error names the byte. Time is
// linear in the text, but for objects of many members: n log n in their names.
Result<OrderedJson> ParseJsonKeepingNumbers(std::string_view text, std::optional<std::string>* repeated = nullptr);

// The decimal digits, with sign, of an integer beyond 64 bits; nothing for any other value.
std::optional<std::string_view> BigIntegerDigits(const OrderedJson& value);
bool IsInteger(const OrderedJson& value);
// BigInteger or any number of nlohmann's.
bool IsNumber(const OrderedJson& value);

// Writes as Python's json.dumps(value, ensure_ascii=False) does.
std::string JsonText(const OrderedJson& value);
void AppendJsonText(std::string& out, const OrderedJson& value);
// The same for a string, with or without its quotes. Escaping a text in parts gives the parts of the escaped text.
void AppendJsonString(std::string& out, std::string_view text);
void AppendJsonEscaped(std::string& out, std::string_view text);
// As Python's repr: the shortest text that reads back the same.
std::string DoubleText(double value);

// The member of an object, or null when `object` is no object or has none.
const OrderedJson* FindMember(const OrderedJson& object, std::string_view name);

}  // namespace hearth::text
