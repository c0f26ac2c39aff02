#pragma once

#include <map>
#include <string>
#include <vector>

#include "gateway/http/http_message.h"

namespace hearth::http {

// Exact paths to handlers. Unknown paths give 404, other methods of a known path 405 with Allow, OPTIONS 204 with
// Allow; all errors are JSON.
class Router {
 public:
  void Add(const std::string& method, const std::string& path, Handler handler);
  // Never throws: an exception of a handler becomes 500.
  HttpResponse Route(const HttpRequest& request) const;

 private:
  std::map<std::string, std::map<std::string, Handler>> routes_;  // path -> method
};

}  // namespace hearth::http
