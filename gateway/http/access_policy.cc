#include "gateway/http/access_policy.h"

#include <algorithm>
#include <fstream>

#include "common/base/startup_error.h"
#include "common/base/status.h"
#include "gateway/http/error_response.h"

namespace hearth::http {
namespace {

bool NeedsNoKey(const AccessPolicy& policy, const HttpRequest& request) {
  if (policy.api_keys.empty() || request.method == "OPTIONS") return true;
  if (request.path == "/") return true;  // the page, in which a key can be given
  return policy.open_status && (request.path == "/health" || request.path == "/metrics");
}

std::string_view GivenKey(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = request.Header("Authorization");
  if (authorization.size() > kBearer.size() && EqualsIgnoreCase(authorization.substr(0, kBearer.size()), kBearer)) {
    return authorization.substr(kBearer.size());
  }
  return request.Header("x-api-key");
}

std::string_view HostWithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

// Every header that a page asks to send may come: clients of the OpenAI API have some of their own (x-stainless-..).
std::string AllowedHeaders(const HttpRequest& request) {
  const std::string_view asked = request.Header("Access-Control-Request-Headers");
  const bool names = !asked.empty() && asked.size() <= 1024 && std::all_of(asked.begin(), asked.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == ',' || c == ' ';
  });
  return names ? std::string(asked) : "Authorization, Content-Type, x-api-key, x-request-id, x-session-id";
}

}  // namespace

bool EqualsConstantTime(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ (b.empty() ? '\xff' : b[i % b.size()]));
  }
  return difference == 0;
}

std::optional<HttpResponse> Refuse(const AccessPolicy& policy, const HttpRequest& request) {
  // Says only that this process runs, to whoever watches over it.
  if (request.path == "/health/live") return std::nullopt;
  if (!policy.allowed_hosts.empty()) {
    const std::string_view host = HostWithoutPort(request.Header("Host"));
    const bool known = std::any_of(policy.allowed_hosts.begin(), policy.allowed_hosts.end(),
                                   [&](const std::string& allowed) { return EqualsIgnoreCase(allowed, host); });
    if (!known) {
      return ErrorResponse(403, StrCat("the host name ", host, " is not allowed here; see --allowed-hosts"),
                           "host_not_allowed");
    }
  }
  if (NeedsNoKey(policy, request)) return std::nullopt;
  const std::string_view given = GivenKey(request);
  bool good = false;
  for (const std::string& key : policy.api_keys) good |= EqualsConstantTime(key, given);
  if (good) return std::nullopt;
  return ErrorResponse(
      401,
      given.empty() ? "an API key is needed: send it as Authorization: Bearer KEY" : "this API key is not known here",
      "invalid_api_key");
}

void AddCors(const AccessPolicy& policy, const HttpRequest& request, HttpResponse& response) {
  if (policy.cors_origins.empty()) return;
  const bool any = std::find(policy.cors_origins.begin(), policy.cors_origins.end(), "*") != policy.cors_origins.end();
  if (!any) response.headers.emplace_back("Vary", "Origin");  // also of what other origins get, for caches between
  const std::string_view origin = request.Header("Origin");
  if (origin.empty()) return;
  const bool listed =
      std::find(policy.cors_origins.begin(), policy.cors_origins.end(), origin) != policy.cors_origins.end();
  if (!any && !listed) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", any ? "*" : std::string(origin));
  response.headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, x-hearth-ignored, Retry-After");
  if (request.method != "OPTIONS") return;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  response.headers.emplace_back("Access-Control-Allow-Headers", AllowedHeaders(request));
  response.headers.emplace_back("Access-Control-Max-Age", "600");
}

std::vector<std::string> ReadApiKeyFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw StartupError(StrCat("cannot read ", path, "; --api-key-file names a file with one key a line"));
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    constexpr const char* kBlanks = " \t\r";
    const size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string::npos || line[begin] == '#') continue;
    keys.push_back(line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin));
  }
  if (keys.empty()) throw StartupError(StrCat(path, " holds no key; --api-key-file names a file with one key a line"));
  return keys;
}

}  // namespace hearth::http
