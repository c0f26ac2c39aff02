#include "gateway/http/router.h"

#include <exception>
#include <utility>

#include "common/log/log.h"
#include "gateway/http/error_response.h"

namespace hearth::http {

void Router::Add(const std::string& method, const std::string& path, Handler handler) {
  routes_[path][method] = std::move(handler);
}

HttpResponse Router::Route(const HttpRequest& request) const {
  const auto methods = routes_.find(request.path);
  if (methods == routes_.end()) {
    return ErrorResponse(404, StrCat("there is no ", request.path, " here; docs/api.md lists the routes"), "not_found");
  }
  const auto handler = methods->second.find(request.method);
  if (handler == methods->second.end()) {
    std::string allow;
    for (const auto& [method, unused] : methods->second) allow += method + (method == "GET" ? ", HEAD, " : ", ");
    allow += "OPTIONS";
    HttpResponse response =
        request.method == "OPTIONS"
            ? HttpResponse{.status = 204, .content_type = ""}
            : ErrorResponse(405, StrCat(request.path, " does not take ", request.method, ", only ", allow),
                            "method_not_allowed");
    response.headers.emplace_back("Allow", allow);
    return response;
  }
  try {
    return handler->second(request);
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "handler_failed", {{"request", request.id}, {"path", request.path}, {"what", error.what()}});
    return ErrorResponse(Internal("the gateway failed on this request; its log has the details under ", request.id));
  }
}

}  // namespace hearth::http
