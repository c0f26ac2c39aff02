#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "gateway/text/json_text.h"

namespace hearth::grammar {

// Automata, in wire form, for whole answers. kInvalidArgument says what is wrong, without naming the request's field.

// Any JSON object.
Result<std::string> CompileJsonObject();
// A value that is valid for a JSON schema of the subset that docs/api.md lists.
Result<std::string> CompileJsonSchema(const text::OrderedJson& schema);
// Exactly what the expression matches.
Result<std::string> CompileRegex(const std::string& expression);
// One of the texts.
Result<std::string> CompileChoice(const std::vector<std::string>& texts);

}  // namespace hearth::grammar
