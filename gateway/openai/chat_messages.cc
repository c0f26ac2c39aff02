#include "gateway/openai/chat_messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

Status Wrong(const std::string& place, const std::string& what) {
  return InvalidArgument(place, " ", what).WithParam(place);
}

// `value` is missing (null) or no string.
Status WrongString(const OrderedJson* value, const std::string& place, const char* expected) {
  return Wrong(place, StrCat(value == nullptr ? "is missing" : StrCat("is ", Shown(*value)), ", expected ", expected));
}

bool OneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

using Names = std::set<std::string_view>;

Names NamesOf(const OrderedJson* tools) {
  Names names;
  if (tools == nullptr || !tools->is_array()) return names;
  for (const OrderedJson& tool : *tools) {
    const OrderedJson* function = text::FindMember(tool, "function");
    const OrderedJson* name = function == nullptr ? nullptr : text::FindMember(*function, "name");
    if (name != nullptr && name->is_string()) names.insert(name->get_ref<const std::string&>());
  }
  return names;
}

bool IsReference(const OrderedJson& part) {
  const OrderedJson* type = text::FindMember(part, "type");
  return type != nullptr && *type == "tool_reference";
}

Status CheckReference(const OrderedJson& part, const std::string& place, const Names& tools) {
  const OrderedJson* name = text::FindMember(part, "name");
  if (name == nullptr || !name->is_string()) return WrongString(name, place + ".name", "a function's name");
  if (tools.contains(name->get_ref<const std::string&>())) return Status::Ok();
  return Wrong(place + ".name", StrCat("is ", Shown(*name), ", which is no function of tools"));
}

Status CheckPart(const OrderedJson& part, const std::string& place) {
  if (part.is_string()) return Status::Ok();
  if (!part.is_object()) return Wrong(place, StrCat("is ", Shown(part), ", expected a part of type text"));
  const OrderedJson* type = text::FindMember(part, "type");
  if (type == nullptr || !type->is_string()) return WrongString(type, place + ".type", "\"text\"");
  if (*type != "text") {
    return Wrong(place + ".type", StrCat("is ", Shown(*type), ": this model is text only, expected \"text\""));
  }
  const OrderedJson* words = text::FindMember(part, "text");
  if (words == nullptr || !words->is_string()) return WrongString(words, place + ".text", "a string");
  return Status::Ok();
}

// `tools`: the functions that parts may refer to; null pointer: none may, as outside of tool results.
Status CheckParts(const OrderedJson& parts, const std::string& place, const Names* tools) {
  const bool references = tools != nullptr && !parts.empty() && IsReference(parts[0]);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part_place = StrCat(place, "[", i, "]");
    if (tools != nullptr && IsReference(parts[i]) != references) {
      return Wrong(part_place,
                   "stands beside parts of another kind: in one list all are of type tool_reference or none is; "
                   "send them in messages of their own");
    }
    Status status = references ? CheckReference(parts[i], part_place, *tools) : CheckPart(parts[i], part_place);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

// An entry of a tool message that lists several results.
Status CheckOutput(const OrderedJson& entry, const std::string& place, const Names& tools) {
  const OrderedJson* output = text::FindMember(entry, "output");
  if (output == nullptr) return Wrong(place + ".output", "is missing, expected in every entry when the first has one");
  if (!output->is_array()) return Status::Ok();  // what is no text is refused where it is written
  return CheckParts(*output, place + ".output", &tools);
}

// `may_be_empty`: null or a missing content is fine. `tools` as of CheckParts.
Status CheckContent(const OrderedJson& message, const std::string& place, bool may_be_empty, const Names* tools) {
  const OrderedJson* content = text::FindMember(message, "content");
  if (content == nullptr || content->is_null()) {
    return may_be_empty ? Status::Ok() : Wrong(place + ".content", "is missing, expected a string or a list of parts");
  }
  if (content->is_string()) return Status::Ok();
  if (!content->is_array()) {
    return Wrong(place + ".content", StrCat("is ", Shown(*content), ", expected a string or a list of parts"));
  }
  const bool outputs = tools != nullptr && !content->empty() && text::FindMember((*content)[0], "output") != nullptr;
  if (!outputs) return CheckParts(*content, place + ".content", tools);
  for (size_t i = 0; i < content->size(); ++i) {
    if (Status s = CheckOutput((*content)[i], StrCat(place, ".content[", i, "]"), *tools); !s.ok()) return s;
  }
  return Status::Ok();
}

Status CheckOptionalString(const OrderedJson& object, const char* name, const std::string& place) {
  const OrderedJson* value = text::FindMember(object, name);
  if (value == nullptr || value->is_null() || value->is_string()) return Status::Ok();
  return Wrong(StrCat(place, ".", name), StrCat("is ", Shown(*value), ", expected a string"));
}

// Turns the arguments' JSON text into the object it stands for.
Status ReadCall(OrderedJson& call, const std::string& place) {
  if (!call.is_object()) return Wrong(place, StrCat("is ", Shown(call), ", expected an object"));
  if (const OrderedJson* type = text::FindMember(call, "type");
      type != nullptr && !type->is_null() && *type != "function") {
    return Wrong(place + ".type", StrCat("is ", Shown(*type), ", expected \"function\""));
  }
  if (Status status = CheckOptionalString(call, "id", place); !status.ok()) return status;
  const std::string function_place = place + ".function";
  if (!call.contains("function") || !call["function"].is_object()) return Wrong(function_place, "must be an object");
  OrderedJson& function = call["function"];
  const OrderedJson* name = text::FindMember(function, "name");
  if (name == nullptr || !name->is_string() || name->get_ref<const std::string&>().empty()) {
    return Wrong(function_place + ".name", "must be a string that is not empty");
  }
  const std::string arguments_place = function_place + ".arguments";
  OrderedJson& arguments = function["arguments"];
  if (arguments.is_null()) arguments = OrderedJson::object();
  if (arguments.is_string()) {
    const std::string text = arguments.get<std::string>();
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      arguments = OrderedJson::object();
    } else {
      Result<OrderedJson> parsed = text::ParseJsonKeepingNumbers(text);
      if (!parsed.ok()) return Wrong(arguments_place, "is not valid JSON: " + parsed.status().message());
      arguments = *std::move(parsed);
    }
  }
  if (!arguments.is_object()) return Wrong(arguments_place, "must be the JSON text of an object");
  return Status::Ok();
}

Status ReadAssistant(OrderedJson& message, const std::string& place) {
  for (const char* refused : {"function_call", "audio"}) {
    const OrderedJson* value = text::FindMember(message, refused);
    if (value != nullptr && !value->is_null()) return Wrong(StrCat(place, ".", refused), "is not offered");
  }
  for (const char* name : {"reasoning", "reasoning_content", "refusal"}) {
    if (Status status = CheckOptionalString(message, name, place); !status.ok()) return status;
  }
  if (const OrderedJson* reasoning = text::FindMember(message, "reasoning");
      reasoning != nullptr && reasoning->is_string()) {
    const OrderedJson* known = text::FindMember(message, "reasoning_content");
    const bool other = known != nullptr && !known->is_null() && *known != "";
    if (other && *reasoning != "" && *known != *reasoning) {
      return Wrong(place + ".reasoning", "differs from reasoning_content, whose other name it is; give one of them");
    }
    if (!other) message["reasoning_content"] = OrderedJson(*reasoning);
  }
  message.erase("reasoning");
  bool has_calls = false;
  if (message.contains("tool_calls") && !message["tool_calls"].is_null()) {
    OrderedJson& calls = message["tool_calls"];
    if (!calls.is_array()) return Wrong(place + ".tool_calls", "must be a list");
    for (size_t i = 0; i < calls.size(); ++i) {
      if (Status status = ReadCall(calls[i], StrCat(place, ".tool_calls[", i, "]")); !status.ok()) return status;
    }
    has_calls = !calls.empty();
  }
  if (message.contains("content") && message["content"].is_null()) message["content"] = "";
  const bool has_reasoning = message.contains("reasoning_content") && message["reasoning_content"].is_string();
  return CheckContent(message, place, has_calls || has_reasoning || message.contains("content"), nullptr);
}

Status ReadMessage(OrderedJson& message, const std::string& place, const Names& tools) {
  if (!message.is_object()) return Wrong(place, StrCat("is ", Shown(message), ", expected an object"));
  const OrderedJson* given = text::FindMember(message, "role");
  if (given == nullptr || !given->is_string()) return WrongString(given, place + ".role", "a string");
  const std::string role = given->get<std::string>();
  if (!OneOf(role, {"system", "developer", "user", "assistant", "tool", "function"})) {
    return Wrong(place + ".role",
                 StrCat("is ", Shown(*given), ", expected system, developer, user, assistant, tool or function"));
  }
  if (Status status = CheckOptionalString(message, "name", place); !status.ok()) return status;
  if (role == "assistant") return ReadAssistant(message, place);
  if (const OrderedJson* calls = text::FindMember(message, "tool_calls"); calls != nullptr && !calls->is_null()) {
    return Wrong(place + ".tool_calls", "belongs to assistant messages");
  }
  const bool tool_result = role == "tool" || role == "function";
  if (role == "developer") message["role"] = "system";
  if (role == "function") message["role"] = "tool";
  if (tool_result) {
    if (Status status = CheckOptionalString(message, "tool_call_id", place); !status.ok()) return status;
  }
  return CheckContent(message, place, /*may_be_empty=*/false, tool_result ? &tools : nullptr);
}

}  // namespace

Result<OrderedJson> NormalizeMessages(const OrderedJson& messages, const OrderedJson* tools) {
  if (!messages.is_array()) return Wrong("messages", StrCat("is ", Shown(messages), ", expected a list"));
  if (messages.empty()) return Wrong("messages", "is empty, expected at least one message");
  if (messages.size() > kMaxMessages) {
    return Wrong("messages", StrCat("has ", messages.size(), " entries, at most ", kMaxMessages));
  }
  OrderedJson normalized = messages;
  const Names names = NamesOf(tools);
  for (size_t i = 0; i < normalized.size(); ++i) {
    if (Status status = ReadMessage(normalized[i], StrCat("messages[", i, "]"), names); !status.ok()) return status;
  }
  if (normalized.back()["role"] == "assistant") {
    return Wrong(StrCat("messages[", normalized.size() - 1, "]"),
                 "is the last one and of the assistant: continuing it is not offered");
  }
  return normalized;
}

Status CheckTools(const OrderedJson& tools) {
  if (!tools.is_array()) return Wrong("tools", StrCat("is ", Shown(tools), ", expected a list"));
  if (tools.size() > kMaxTools) return Wrong("tools", StrCat("has ", tools.size(), " entries, at most ", kMaxTools));
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = StrCat("tools[", i, "]");
    const OrderedJson& tool = tools[i];
    if (!tool.is_object()) return Wrong(place, "must be an object");
    const OrderedJson* type = text::FindMember(tool, "type");
    if (type == nullptr || *type != "function") return Wrong(place + ".type", "must be \"function\"");
    const OrderedJson* function = text::FindMember(tool, "function");
    if (function == nullptr || !function->is_object()) return Wrong(place + ".function", "must be an object");
    const OrderedJson* name = text::FindMember(*function, "name");
    if (name == nullptr || !name->is_string() || name->get_ref<const std::string&>().empty()) {
      return Wrong(place + ".function.name", "must be a string that is not empty");
    }
    const auto [same, is_new] = known.emplace(name->get<std::string>(), i);
    if (!is_new) {
      return Wrong(place + ".function.name", StrCat("is ", Shown(*name), ", as that of tools[", same->second, "]"));
    }
    if (Status status = CheckOptionalString(*function, "description", place + ".function"); !status.ok()) return status;
    const OrderedJson* parameters = text::FindMember(*function, "parameters");
    if (parameters != nullptr && !parameters->is_null() && !parameters->is_object()) {
      return Wrong(place + ".function.parameters", "must be an object");
    }
    const OrderedJson* strict = text::FindMember(*function, "strict");
    if (strict != nullptr && !strict->is_null() && !strict->is_boolean()) {
      return Wrong(place + ".function.strict", "must be true or false");
    }
  }
  return Status::Ok();
}

}  // namespace hearth::openai
