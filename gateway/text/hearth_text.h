#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "gateway/text/json_text.h"
#include "gateway/text/tokenizer.h"

namespace hearth::text {

// The command line's four jobs, one JSON object in, one out. `render` and `parse` need no tokenizer.
enum class TextJob { kRender, kParse, kTokenize, kDetokenize };

std::optional<TextJob> TextJobNamed(std::string_view name);
bool NeedsTokenizer(TextJob job);

// Answers one input line. A refused input gives {"error": ...}; nothing throws. `tokenizer` may be null where the job
// needs none. The answer has no line break.
std::string AnswerLine(TextJob job, const Tokenizer* tokenizer, std::string_view line);

}  // namespace hearth::text
