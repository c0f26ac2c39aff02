#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/http/http_message.h"

namespace hearth::http {

// Exact paths to handlers. Unknown paths give 404, other methods of a known path 405 with Allow, OPTIONS 204 with
// Allow; all errors are JSON.
class Router {
 public:
  void Add(const std::string& method, const std::string& path, Handler handler);
  // The 404 or 405 that no body could change, or nothing.
  std::optional<HttpResponse> Refuse(const HttpRequest& request) const;
  // Never throws: an exception of a handler becomes 500.
  HttpResponse Route(const HttpRequest& request) const;

 private:
  using Methods = std::map<std::string, Handler>;
  static std::string Allow(const Methods& methods);

  std::map<std::string, Methods> routes_;  // by path
};

}  // namespace hearth::http
