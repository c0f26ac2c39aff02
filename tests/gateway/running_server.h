#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/log/log.h"
#include "gateway/http/http_server.h"
#include "gateway/http/router.h"
#include "tests/support/http_probe.h"

namespace hearth::http {

using namespace std::chrono_literals;
using test::Fetch;
using test::HttpProbe;
using test::HttpReply;

// A server with a few routes, one of which waits and one of which never ends its answer by itself.
class RunningServer : public ::testing::Test {
 protected:
  RunningServer() {
    SetLogLevel(LogLevel::kError);
    options_.port = 0;
    router_.Add("GET", "/hello", [](const HttpRequest&) { return HttpResponse{.body = "\"hi\""}; });
    router_.Add("POST", "/echo", [](const HttpRequest& request) { return HttpResponse{.body = request.body}; });
    router_.Add("GET", "/broken", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("bug"); });
    router_.Add("GET", "/wait", [this](const HttpRequest& request) {
      ++waiting_;
      while (!request.client_left() && !release_) std::this_thread::sleep_for(2ms);
      if (request.client_left()) ++left_;
      return HttpResponse{.body = "\"waited\""};
    });
    router_.Add("GET", "/stream", [this](const HttpRequest&) {
      HttpResponse response{.content_type = "text/event-stream"};
      response.stream = [this](BodyWriter& body) {
        const std::string line(1024, 'x');
        while (body.Write(line) && !release_) ++written_;
        timed_out_ = body.timed_out();
        ++ended_;
      };
      return response;
    });
  }

  void Start() {
    options_.refuse_early = [this](const HttpRequest& r) { return router_.Refuse(r); };
    server_ = std::make_unique<HttpServer>(options_, [this](const HttpRequest& r) { return router_.Route(r); });
    server_->Start();
  }
  HttpReply Raw(const std::string& bytes) {
    HttpProbe probe(server_->port());
    probe.Send(bytes);
    return probe.Receive();
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(2ms);
    return condition();
  }

  ServerOptions options_;
  Router router_;
  std::atomic<int> waiting_{0}, left_{0}, ended_{0};
  std::atomic<size_t> written_{0};
  std::atomic<bool> release_{false}, timed_out_{false};
  std::unique_ptr<HttpServer> server_;
};

}  // namespace hearth::http
