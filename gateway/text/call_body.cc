#include "gateway/text/call_body.h"

#include "gateway/text/json_text.h"
#include "gateway/text/utf8.h"

namespace hearth::text {
namespace {

std::optional<std::string> ObjectText(const OrderedJson* value) {
  if (!value) return std::nullopt;
  if (value->is_object()) return JsonText(*value);
  if (!value->is_string()) return std::nullopt;
  const Result<OrderedJson> parsed = ParseJsonKeepingNumbers(value->get_ref<const std::string&>());
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  return JsonText(*parsed);
}

}  // namespace

bool IsValidCallName(std::string_view name) {
  if (name.empty() || name[0] == '{') return false;
  for (size_t i = 0; i < name.size();) {
    const CodePoint c = CodePointAt(name, i);
    const bool is_control = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0);
    if (is_control || IsUnicodeSpace(c.value) || c.value == '<' || c.value == '>') return false;
    i += c.bytes;
  }
  return true;
}

std::optional<CallBody> ParseCallBody(std::string_view text) {
  if (!text.starts_with('{')) return std::nullopt;
  const Result<OrderedJson> body = ParseJsonKeepingNumbers(text);
  if (!body.ok()) return std::nullopt;
  const OrderedJson* name = FindMember(*body, "name");
  if (!name || !name->is_string()) return std::nullopt;
  const std::string_view trimmed = TrimSpace(name->get_ref<const std::string&>());
  if (!IsValidCallName(trimmed)) return std::nullopt;
  for (const char* key : {"arguments", "parameters"}) {
    if (auto arguments = ObjectText(FindMember(*body, key)))
      return CallBody{std::string(trimmed), *std::move(arguments)};
  }
  return std::nullopt;
}

}  // namespace hearth::text
