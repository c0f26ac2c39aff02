#include "gateway/http/router.h"

#include <exception>
#include <utility>

#include "common/log/log.h"
#include "gateway/http/error_response.h"

namespace hearth::http {

std::string Router::Allow(const Methods& methods) {
  std::string allow;
  for (const auto& [method, unused] : methods) allow += method + (method == "GET" ? ", HEAD, " : ", ");
  return allow + "OPTIONS";
}

void Router::Add(const std::string& method, const std::string& path, Handler handler) {
  Methods& methods = path.ends_with("/*") ? under_[path.substr(0, path.size() - 1)] : routes_[path];
  methods[method] = std::move(handler);
}

const Router::Methods* Router::Find(const std::string& path) const {
  if (const auto exact = routes_.find(path); exact != routes_.end()) return &exact->second;
  for (const auto& [prefix, methods] : under_) {
    if (path.starts_with(prefix) && path.size() > prefix.size()) return &methods;
  }
  return nullptr;
}

std::optional<HttpResponse> Router::Refuse(const HttpRequest& request) const {
  const Methods* methods = Find(request.path);
  if (!methods) {
    return ErrorResponse(404, StrCat("there is no ", request.path, " here; docs/api.md lists the routes"), "not_found");
  }
  if (request.method == "OPTIONS" || methods->contains(request.method)) return std::nullopt;
  const std::string allow = Allow(*methods);
  HttpResponse response = ErrorResponse(405, StrCat(request.path, " does not take ", request.method, ", only ", allow),
                                        "method_not_allowed");
  response.headers.emplace_back("Allow", allow);
  return response;
}

HttpResponse Router::Route(const HttpRequest& request) const {
  if (auto refusal = Refuse(request)) return *std::move(refusal);
  const Methods& methods = *Find(request.path);
  const auto handler = methods.find(request.method);
  if (handler == methods.end()) {  // OPTIONS
    return {.status = 204, .headers = {{"Allow", Allow(methods)}}, .content_type = ""};
  }
  try {
    return handler->second(request);
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "handler_failed", {{"request", request.id}, {"path", request.path}, {"what", error.what()}});
    return ErrorResponse(Internal("the gateway failed on this request; its log has the details under ", request.id));
  }
}

}  // namespace hearth::http
