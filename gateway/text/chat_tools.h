#pragma once

#include <string>

#include "common/base/status.h"
#include "gateway/text/json_text.h"
#include "gateway/text/prompt_builder.h"

namespace hearth::text {

// `tools` must be null or a list of objects whose `function`, where given, is an object.
Status CheckTools(const OrderedJson& tools);
// The object that describes a function: the tool's member `function`, else the tool itself.
const OrderedJson& FunctionOf(const OrderedJson& tool);
// A function's description as the prompt shows it: without `strict` and `defer_loading` at the top.
std::string ToolText(const OrderedJson& function);

// The part of the prompt that lists the tools; nothing when there are none.
void RenderToolsBlock(const OrderedJson& tools, PromptBuilder& out);
// The calls of an assistant message (null pointer: none).
Status RenderToolCalls(const OrderedJson* calls, const std::string& place, PromptBuilder& out);

}  // namespace hearth::text
