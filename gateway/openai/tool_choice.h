#pragma once

#include "gateway/grammar/tool_grammar.h"
#include "gateway/openai/field_reader.h"

namespace hearth::openai {

// What `tools`, `tool_choice` and `parallel_tool_calls` say together.
struct ToolFields {
  bool active = false;       // tools given and tool_choice is not none
  grammar::ToolRules rules;  // in_reasoning is left open
};

// Mistakes land in the reader.
ToolFields ReadTools(FieldReader& fields);

}  // namespace hearth::openai
