#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::text {

// A tool's name as the model writes it, trimmed: not empty, no `{` at its start, no white space, control character,
// `<` or `>`.
bool IsValidCallName(std::string_view name);

struct CallBody {
  std::string name;
  std::string arguments;  // JSON text of an object
};
// A call that the model wrote as a JSON object, {"name": .., "arguments": {..}}, instead of tags. `arguments` may be
// called `parameters`, and may be the JSON text of the object. Nothing when `text` is something else.
std::optional<CallBody> ParseCallBody(std::string_view text);

}  // namespace hearth::text
