#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/base/result.h"

namespace hearth {

using Json = nlohmann::json;

// Parses JSON that somebody else wrote. `what` names the text in messages, for example its file. Refuses what does not
// parse, nesting deeper than 64, and an object that has a key twice (a second value would silently win).
Result<Json> ParseJson(const std::string& text, const std::string& what);

// The value as short text for messages: at most 80 characters.
std::string ShowJson(const Json& value);

}  // namespace hearth
