#include "gateway/openai/request_body.h"

#include <optional>
#include <string>

#include "gateway/openai/chat_messages.h"
#include "gateway/text/json_reader.h"

namespace hearth::openai {
Result<OrderedJson> ParseBody(std::string_view body) {
  constexpr text::ListLimit kLimits[] = {{"messages", kMaxMessages}, {"tools", kMaxTools}};
  std::optional<std::string> repeated;
  Result<OrderedJson> parsed = text::ParseJsonWithin(body, kLimits, &repeated);
  if (!parsed.ok() && !parsed.status().param().empty()) return parsed.status();
  if (!parsed.ok()) return InvalidArgument("the body is not valid JSON: ", parsed.status().message());
  if (!parsed->is_object()) return InvalidArgument("the body must be a JSON object");
  if (repeated) return InvalidArgument("the body gives the member \"", *repeated, "\" twice").WithParam(*repeated);
  return parsed;
}

bool IsJsonRequest(const http::HttpRequest& request) {
  std::string_view type = request.Header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (http::EqualsIgnoreCase(type, "application/json") || http::EqualsIgnoreCase(type, "text/json")) return true;
  if (type.size() >= 10 && http::EqualsIgnoreCase(type.substr(0, 10), "multipart/")) return false;
  return request.Header("Origin").empty();
}

}  // namespace hearth::openai
