#pragma once

#include <functional>
#include <string>
#include <thread>

#include "common/base/unique_fd.h"

namespace hearth {

// Serves GET /metrics over HTTP from one thread, one connection at a time; any other path gets 404, any other method
// 405. Reading a request and writing the answer have 2 s each, so a silent client delays others but never stops them.
class HttpExporter {
 public:
  // Listens on host:port (a numeric IPv4 or IPv6 address or a name; port 0 takes a free one). Throws StartupError that
  // names the address and `port_option`, the option that changes it. `expose` gives the body, on the exporter's
  // thread; it must be callable until this object is gone.
  HttpExporter(const std::string& host, int port, const std::string& port_option, std::function<std::string()> expose);
  ~HttpExporter();
  HttpExporter(const HttpExporter&) = delete;
  HttpExporter& operator=(const HttpExporter&) = delete;

  int port() const { return port_; }

 private:
  void Run();
  void Serve(int connection);

  const std::function<std::string()> expose_;
  UniqueFd listener_;
  UniqueFd stop_;  // an eventfd: readable once the thread is to end
  int port_ = 0;
  std::thread thread_;
};

}  // namespace hearth
