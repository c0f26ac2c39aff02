#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/deadline.h"
#include "gateway/http/access_policy.h"
#include "gateway/http/connection.h"
#include "gateway/http/http_message.h"

namespace hearth::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 30000;  // 0: a free one
  size_t max_connections = 1024;
  ConnectionLimits limits;
  int requests_per_connection = 10'000;       // the last one's response says that the connection closes
  size_t inflight_bytes = size_t{256} << 20;  // of all bodies being received and handled; at least limits.body_bytes
  AccessPolicy access;
  std::string tls_cert, tls_key;  // PEM files; both empty: plain HTTP
  // Asked with the head alone, once access is granted: a refusal that no body could change, or nothing.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse_early = [](const HttpRequest&) {
    return std::nullopt;
  };
  // Told the status of each request that is refused before the handler sees it, and 500 of each whose streamed body
  // fails with an exception.
  std::function<void(int status)> on_refusal = [](int) {};
};

// An HTTP/1.1 server: one thread a connection, keep-alive, chunked streaming, every wait with a deadline. The handler
// gets complete requests and is called on many threads at once.
class HttpServer {
 public:
  // Listens; nothing is answered before Start(). Throws StartupError when the port cannot be had or the
  // certificate and key cannot be used.
  HttpServer(ServerOptions options, Handler handler);
  // Stops at once; Drain() first for a polite end.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void Start();
  int port() const;
  size_t open_connections() const;

  // From now on new requests are answered 503, but those the handler marks as status routes by answering `is_status`
  // true. Returns once no request is running. At `deadline` the rest is told that its client left, then cut.
  void Drain(Deadline deadline, const std::function<bool(const std::string& path)>& is_status);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::http
