#include "gateway/text/chat_tools.h"

#include "gateway/text/message_text.h"

namespace hearth::text {
namespace {

constexpr std::string_view kBeforeTools =
    "<|system|>\n"
    "# Tools\n"
    "\n"
    "You may call one or more functions to assist with the user query.\n"
    "\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n"
    "<tools>\n";
constexpr std::string_view kAfterTools =
    "</tools>\n"
    "\n"
    "For each function call, output the function name and arguments within the following XML format:\n"
    "<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value>"
    "<arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>";

Status RenderToolCall(const OrderedJson& outer, const std::string& place, PromptBuilder& out) {
  const OrderedJson* function = FindMember(outer, "function");
  const OrderedJson& call = IsTruthy(function) ? *function : outer;
  if (!call.is_object()) return InvalidArgument(place, " is not an object").WithParam(place);
  out.Markup("<tool_call>");
  if (const OrderedJson* name = FindMember(call, "name")) {
    const std::optional<std::string> text = ScalarText(*name);
    if (!text) return InvalidArgument(place, ".name is not a string").WithParam(place + ".name");
    out.Content(*text);
  }
  const OrderedJson* arguments = FindMember(call, "arguments");
  if (!arguments || !arguments->is_object()) {
    return InvalidArgument(place, ".arguments is not an object").WithParam(place + ".arguments");
  }
  for (const auto& [key, value] : arguments->get_ref<const OrderedJson::object_t&>()) {
    out.Markup("<arg_key>");
    out.Content(key);
    out.Markup("</arg_key><arg_value>");
    out.Content(value.is_string() ? value.get_ref<const std::string&>() : JsonText(value));
    out.Markup("</arg_value>");
  }
  out.Markup("</tool_call>");
  return Status::Ok();
}

}  // namespace

Status CheckTools(const OrderedJson& tools) {
  if (tools.is_null()) return Status::Ok();
  if (!tools.is_array()) return InvalidArgument("tools is not a list").WithParam("tools");
  for (size_t i = 0; i < tools.size(); ++i) {
    const OrderedJson* function = FindMember(tools[i], "function");
    if (tools[i].is_object() && (!function || function->is_object())) continue;
    const std::string place = StrCat("tools[", i, function ? "].function" : "]");
    return InvalidArgument(place, " is not an object").WithParam(place);
  }
  return Status::Ok();
}

const OrderedJson& FunctionOf(const OrderedJson& tool) {
  const OrderedJson* function = FindMember(tool, "function");
  return function ? *function : tool;
}

std::string ToolText(const OrderedJson& function) {
  std::string out = "{";
  for (const auto& [key, value] : function.get_ref<const OrderedJson::object_t&>()) {
    if (key == "strict" || key == "defer_loading") continue;
    if (out.size() > 1) out += ", ";
    out.append("\"").append(key).append("\": ");  // the template does not escape names at this level
    AppendJsonText(out, value);
  }
  return out + "}";
}

void RenderToolsBlock(const OrderedJson& tools, PromptBuilder& out) {
  if (!tools.is_array() || tools.empty()) return;
  out.Markup(kBeforeTools);
  for (const OrderedJson& tool : tools) {
    const OrderedJson& function = FunctionOf(tool);
    if (IsTruthy(FindMember(function, "defer_loading"))) continue;
    out.Content(ToolText(function));
    out.Markup("\n");
  }
  out.Markup(kAfterTools);
}

Status RenderToolCalls(const OrderedJson* calls, const std::string& place, PromptBuilder& out) {
  if (!IsTruthy(calls)) return Status::Ok();
  if (!calls->is_array()) return InvalidArgument(place, " is not a list").WithParam(place);
  for (size_t i = 0; i < calls->size(); ++i) {
    if (Status s = RenderToolCall((*calls)[i], StrCat(place, "[", i, "]"), out); !s.ok()) return s;
  }
  return Status::Ok();
}

}  // namespace hearth::text
