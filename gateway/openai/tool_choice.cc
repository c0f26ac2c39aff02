#include "gateway/openai/tool_choice.h"

#include <algorithm>

#include "gateway/openai/chat_messages.h"
#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

using text::FindMember;

constexpr char kExpected[] =
    "must be \"auto\", \"none\", \"required\", {\"type\": \"function\", \"function\": {\"name\": ..}} or "
    "{\"type\": \"allowed_tools\", \"allowed_tools\": {\"mode\": .., \"tools\": [..]}}";

// The name in {"type": "function", "function": {"name": N}}, or nothing.
std::optional<std::string> NamedFunction(const OrderedJson& choice) {
  const OrderedJson *type = FindMember(choice, "type"), *function = FindMember(choice, "function");
  if (type == nullptr || *type != "function" || function == nullptr || choice.size() != 2) return {};
  const OrderedJson* name = FindMember(*function, "name");
  if (name == nullptr || !name->is_string() || function->size() != 1) return {};
  return name->get<std::string>();
}

bool HasTool(const OrderedJson& tools, const std::string& name) {
  return std::any_of(tools.begin(), tools.end(),
                     [&](const OrderedJson& tool) { return tool["function"]["name"] == name; });
}

// False when the shape is none of the accepted ones.
bool ReadAllowed(const OrderedJson& choice, grammar::ToolRules& rules) {
  const OrderedJson *type = FindMember(choice, "type"), *allowed = FindMember(choice, "allowed_tools");
  if (type == nullptr || *type != "allowed_tools" || allowed == nullptr || choice.size() != 2) return false;
  const OrderedJson *mode = FindMember(*allowed, "mode"), *tools = FindMember(*allowed, "tools");
  if (mode == nullptr || (*mode != "auto" && *mode != "required") || tools == nullptr || allowed->size() != 2)
    return false;
  if (!tools->is_array() || tools->empty()) return false;
  rules.must_call = *mode == "required";
  for (const OrderedJson& tool : *tools) {
    const std::optional<std::string> name = NamedFunction(tool);
    if (!name) return false;
    rules.only.push_back(*name);
  }
  return true;
}

// Whether calls are possible at all.
bool ReadChoice(FieldReader& fields, const OrderedJson& choice, grammar::ToolRules& rules) {
  if (choice == "none") return false;
  if (choice == "required") {
    rules.must_call = true;
  } else if (const std::optional<std::string> name = NamedFunction(choice)) {
    rules.must_call = true;
    rules.parallel = false;
    rules.only = {*name};
  } else if (choice != "auto" && !ReadAllowed(choice, rules)) {
    fields.Fail("tool_choice", kExpected);
  }
  return true;
}

}  // namespace

ToolFields ReadTools(FieldReader& fields) {
  ToolFields read;
  const OrderedJson* tools = fields.Get("tools");
  if (tools != nullptr) {
    if (Status status = CheckTools(*tools); !status.ok()) fields.Fail(status);
  }
  const OrderedJson* choice = fields.Get("tool_choice");
  const bool some = choice == nullptr || ReadChoice(fields, *choice, read.rules);
  if (!fields.Bool("parallel_tool_calls").value_or(true)) read.rules.parallel = false;
  if (!fields.ok()) return read;
  const bool none_given = tools == nullptr || tools->empty();
  if (choice != nullptr && some && tools == nullptr) fields.Fail("tool_choice", "needs tools");
  if (read.rules.must_call && none_given) fields.Fail("tool_choice", "needs a tool to call");
  if (!some || none_given) return read;
  for (const std::string& name : read.rules.only) {
    if (!HasTool(*tools, name)) fields.Fail("tool_choice", StrCat("names ", Shown(name), ", which is not in tools"));
  }
  read.active = true;
  read.rules.tools = *tools;
  return read;
}

}  // namespace hearth::openai
