#pragma once

#include <optional>
#include <string>

#include "common/base/status.h"
#include "gateway/text/json_text.h"
#include "gateway/text/prompt_builder.h"

namespace hearth::text {

// A string, number or truth value as the template prints it; nothing for anything else.
std::optional<std::string> ScalarText(const OrderedJson& value);

// Appends the text of a message's content (null pointer: missing). Objects are refused; `place` names the field.
Status AppendVisibleText(const OrderedJson* content, const std::string& place, PromptBuilder& out);

// As a condition of the template sees a value; a null pointer (undefined) is false.
bool IsTruthy(const OrderedJson* value);

}  // namespace hearth::text
