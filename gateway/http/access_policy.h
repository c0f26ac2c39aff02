#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/http/http_message.h"

namespace hearth::http {

// Who may ask. All lists are optional; an empty one does not restrict anything, and none restricts /health/live.
struct AccessPolicy {
  std::vector<std::string> api_keys;       // one of them must come as "Authorization: Bearer KEY" or "x-api-key: KEY"
  bool open_status = true;                 // /health and /metrics need no key; / and /health/live never do
  std::vector<std::string> cors_origins;   // answered with Access-Control-Allow-Origin; "*" is any
  std::vector<std::string> allowed_hosts;  // of the Host header, without port
};

// The refusal (401 or 403) for a request's head, or nothing.
std::optional<HttpResponse> Refuse(const AccessPolicy& policy, const HttpRequest& request);

// Adds the CORS headers that this request's origin is entitled to.
void AddCors(const AccessPolicy& policy, const HttpRequest& request, HttpResponse& response);

// Keys of a file, one a line, without the blanks around them; empty lines and comments (#) are left out. Throws
// StartupError.
std::vector<std::string> ReadApiKeyFile(const std::string& path);

// Takes the same time wherever the texts differ.
bool EqualsConstantTime(std::string_view a, std::string_view b);

}  // namespace hearth::http
