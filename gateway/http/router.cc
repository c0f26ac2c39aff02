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
  routes_[path][method] = std::move(handler);
}

std::optional<HttpResponse> Router::Refuse(const HttpRequest& request) const {
  const auto methods = routes_.find(request.path);
  if (methods == routes_.end()) {
    return ErrorResponse(404, StrCat("there is no ", request.path, " here; docs/api.md lists the routes"), "not_found");
  }
  if (request.method == "OPTIONS" || methods->second.contains(request.method)) return std::nullopt;
  const std::string allow = Allow(methods->second);
  HttpResponse response = ErrorResponse(405, StrCat(request.path, " does not take ", request.method, ", only ", allow),
                                        "method_not_allowed");
  response.headers.emplace_back("Allow", allow);
  return response;
}

HttpResponse Router::Route(const HttpRequest& request) const {
  if (auto refusal = Refuse(request)) return *std::move(refusal);
  const Methods& methods = routes_.at(request.path);
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
