#pragma once

#include <string>

#include "common/base/status.h"
#include "gateway/http/http_message.h"

namespace hearth::http {

// The one table from failures to HTTP. Bodies are OpenAI error objects:
// {"error":{"message","type","param","code"}}.

// 400, 404, 429, 499 (the client left; only logged), 500, 503 or 504.
int HttpStatusOf(StatusCode code);

// The error object as JSON text; also the data of an error event in the middle of a stream.
std::string ErrorBody(const Status& status);

// With Retry-After where trying again can help.
HttpResponse ErrorResponse(const Status& status);

// Failures that only HTTP knows: 401, 403, 405, 408, 411, 413, 414, 415, 431, 501, 503.
HttpResponse ErrorResponse(int http_status, const std::string& message, const std::string& code = {});

// "Not Found"; "Error" for a number without a name here.
const char* ReasonPhrase(int http_status);

}  // namespace hearth::http
