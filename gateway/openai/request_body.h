#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/base/result.h"
#include "gateway/http/http_message.h"

namespace hearth::openai {

using OrderedJson = nlohmann::ordered_json;

// The JSON object that a request's body must be. Refuses (kInvalidArgument) what text::ParseJsonKeepingNumbers refuses,
// a member given twice in one object, a body that is no object, and, before the rest is read, too many messages or
// tools.
Result<OrderedJson> ParseBody(std::string_view body);

// Whether the Content-Type can be JSON. Browsers may send other types across origins without asking first, so a request
// that says it comes from a page must name JSON.
bool IsJsonRequest(const http::HttpRequest& request);

}  // namespace hearth::openai
