#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/http/http_message.h"

namespace hearth::http {

// Paths to handlers. Unknown paths give 404, other methods of a known path 405 with Allow, OPTIONS 204 with Allow; all
// errors are JSON.
class Router {
 public:
  // A path that ends in "/*" takes whatever stands, not empty, in place of the star; an exact path goes before it.
  void Add(const std::string& method, const std::string& path, Handler handler);
  // The 404 or 405 that no body could change, or nothing.
  std::optional<HttpResponse> Refuse(const HttpRequest& request) const;
  // Never throws: an exception of a handler becomes 500.
  HttpResponse Route(const HttpRequest& request) const;

 private:
  using Methods = std::map<std::string, Handler>;
  static std::string Allow(const Methods& methods);
  const Methods* Find(const std::string& path) const;  // null for an unknown path

  std::map<std::string, Methods> routes_;  // by path
  std::map<std::string, Methods> under_;   // by what stands before the star
};

}  // namespace hearth::http
