#include "gateway/http/http_server.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/startup_error.h"
#include "gateway/http/error_response.h"
#include "tests/gateway/running_server.h"

namespace hearth::http {
namespace {

class Server : public RunningServer {};

TEST_F(Server, RefusalsAreTold) {
  options_.limits.body_bytes = 800;
  options_.access.api_keys = {"key"};
  std::atomic<int> last{0};
  options_.on_refusal = [&](int status) { last = status; };
  Start();
  EXPECT_EQ(Raw("nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(last, 400);
  EXPECT_EQ(Fetch(server_->port(), "GET", "/hello").status, 401);
  EXPECT_EQ(last, 401);
  EXPECT_EQ(Fetch(server_->port(), "POST", "/echo", std::string(900, 'x'), {"Authorization: Bearer key"}).status, 413);
  EXPECT_EQ(last, 413);
  last = 0;
  EXPECT_EQ(Fetch(server_->port(), "GET", "/hello", "", {"Authorization: Bearer key"}).status, 200);
  EXPECT_EQ(last, 0);
}

TEST_F(Server, AnswersAndKeepsTheConnection) {
  Start();
  HttpProbe probe(server_->port());
  for (int i = 0; i < 3; ++i) {
    probe.Send("GET /hello HTTP/1.1\r\nHost: x\r\nx-request-id: id-" + std::to_string(i) + "\r\n\r\n");
    const HttpReply reply = probe.Receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "\"hi\"");
    EXPECT_EQ(reply.headers.at("x-request-id"), "id-" + std::to_string(i));
  }
  // Two requests in one packet, a body in pieces, and a chunked one.
  probe.Send("GET /hello HTTP/1.1\r\n\r\nPOST /echo HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
  EXPECT_EQ(probe.Receive().body, "\"hi\"");
  probe.Send("cd");
  EXPECT_EQ(probe.Receive().body, "abcd");
  probe.Send("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n");
  EXPECT_EQ(probe.Receive().body, "abcde");
  probe.Send("POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(probe.ReadSome(12), "HTTP/1.1 100");
  while (probe.ReadSome(1) != "\n") {
  }
  probe.ReadSome(2);
  probe.Send("ok");
  EXPECT_EQ(probe.Receive().body, "ok");
}

TEST_F(Server, TheLastRequestOfAConnectionIsToldSo) {
  options_.requests_per_connection = 2;
  options_.limits.idle_timeout = 7s;
  Start();
  HttpProbe probe(server_->port());
  probe.Send("GET /hello HTTP/1.1\r\n\r\n");
  const HttpReply first = probe.Receive();
  EXPECT_EQ(first.headers.count("connection"), 0u);
  EXPECT_EQ(first.headers.at("keep-alive"), "timeout=7, max=2");
  probe.Send("GET /hello HTTP/1.1\r\n\r\n");
  EXPECT_EQ(probe.Receive().headers.at("connection"), "close");
  EXPECT_EQ(probe.ReadSome(1), "");
}

TEST_F(Server, OnlyTheExpectHeaderAsksToContinue) {
  Start();
  for (const auto& [head, asks] :
       std::initializer_list<std::pair<const char*, bool>>{{"HTTP/1.1\r\nexpect:\t100-Continue \r\n", true},
                                                           {"HTTP/1.1\r\nX-Foo: 100-continue\r\n", false},
                                                           {"HTTP/1.0\r\nExpect: 100-continue\r\n", false}}) {
    HttpProbe probe(server_->port());
    probe.Send(std::string("POST /echo ") + head + "Content-Length: 2\r\n\r\nok");
    EXPECT_EQ(probe.ReadSome(12), asks ? "HTTP/1.1 100" : "HTTP/1.1 200") << head;
  }
}

TEST_F(Server, WrongMethodsAreRefusedBeforeTheirBodies) {
  Start();
  const HttpReply put = Raw("PUT /echo HTTP/1.1\r\n\r\n");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(Raw("PATCH /hello HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n").status, 405) << "no byte is waited for";
  EXPECT_EQ(Raw("BREW /hello HTTP/1.1\r\n\r\n").headers.at("allow"), "GET, HEAD, POST, OPTIONS");
  // Without a body the connection can be used again.
  HttpProbe probe(server_->port());
  probe.Send("GET /echo HTTP/1.1\r\n\r\n");
  EXPECT_EQ(probe.Receive().status, 405);
  probe.Send("OPTIONS /echo HTTP/1.1\r\n\r\n");
  const HttpReply options = probe.Receive();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.at("allow"), "POST, OPTIONS");
}

TEST_F(Server, AClosedRequestHasItsOwnPhrase) {
  router_.Add("GET", "/closed", [](const HttpRequest&) { return ErrorResponse(Cancelled("the client left")); });
  Start();
  HttpProbe probe(server_->port());
  probe.Send("GET /closed HTTP/1.1\r\n\r\n");
  EXPECT_EQ(probe.ReadSome(36), "HTTP/1.1 499 Client Closed Request\r\n");
}

TEST_F(Server, ErrorsAreJson) {
  Start();
  struct Case {
    const char* request;
    int status;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"GET /nothing HTTP/1.1\r\n\r\n", 404},
           {"POST /hello HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405},
           {"DELETE /hello HTTP/1.1\r\n\r\n", 405},
           {"BREW /hello HTTP/1.1\r\n\r\n", 405},
           {"GET /broken HTTP/1.1\r\n\r\n", 500},
           {"POST /echo HTTP/1.1\r\n\r\n", 411},
           {"PUT /echo HTTP/1.1\r\n\r\n", 405},
           {"POST /nothing HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 404},
           {"POST /echo HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413},
           {"POST /echo HTTP/1.1\r\nContent-Length: 99999999999999999999999999\r\n\r\n", 413},
           {"POST /echo HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400},
           {"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
           {"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nab", 400},
           {"POST /echo HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
           {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
           {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFF\r\n", 413},
           {"POST /echo HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\na", 415},
           {"GET /hello\r\n\r\n", 400},
           {"GET  HTTP/1.1\r\n\r\n", 400},
           {"GET /hello HTTP/2.0\r\n\r\n", 400},
           {"GET hello HTTP/1.1\r\n\r\n", 400},
           {"GET /hello HTTP/1.1\r\nno colon\r\n\r\n", 400},
           {"GET /hello HTTP/1.1\r\nBad Name: x\r\n\r\n", 400},
           {"GET /hello HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
           {"GET /hel\xfflo HTTP/1.1\r\n\r\n", 400},
       }) {
    const HttpReply reply = Raw(c.request);
    EXPECT_EQ(reply.status, c.status) << c.request;
    EXPECT_NE(reply.body.find("{\"error\":{\"message\":"), std::string::npos) << c.request << reply.body;
    EXPECT_EQ(reply.headers.count("x-request-id"), 1u) << c.request;
  }
  EXPECT_EQ(Raw("OPTIONS /hello HTTP/1.1\r\n\r\n").headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(Raw("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n\r\n").status, 414);
  EXPECT_EQ(Raw("GET /hello HTTP/1.1\r\nA: " + std::string(9000, 'a') + "\r\n\r\n").status, 431);
  std::string many = "GET /hello HTTP/1.1\r\n";
  while (many.size() < 70'000) many += "A: " + std::string(1000, 'a') + "\r\n";
  EXPECT_EQ(Raw(many + "\r\n").status, 431);
  EXPECT_EQ(Raw("GET /hello HTTP/1.1\r\n\r\n").status, 200);
}

TEST_F(Server, HeadHasNoBody) {
  Start();
  HttpProbe probe(server_->port());
  probe.Send("HEAD /hello HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::string all, some;
  while (!(some = probe.ReadSome()).empty()) all += some;
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n"));
}

TEST_F(Server, AStreamThatThrowsEndsBrokenAndTheServerServesOn) {
  std::atomic<int> told{0};
  options_.on_refusal = [&](int status) { told = status; };
  for (const char* type : {"text/event-stream", "text/plain"}) {
    router_.Add("GET", StrCat("/throws/", type), [type](const HttpRequest&) {
      HttpResponse response{.content_type = type};
      response.stream = [](BodyWriter& body) {
        body.Write("data: 1\n\n");
        throw std::runtime_error("bug");
      };
      return response;
    });
  }
  Start();
  const auto all = [this](const std::string& path) {
    HttpProbe probe(server_->port());
    probe.Send("GET " + path + " HTTP/1.1\r\n\r\n");
    std::string text;
    for (std::string some; !(some = probe.ReadSome()).empty();) text += some;
    return text;
  };
  const std::string events = all("/throws/text/event-stream");
  EXPECT_NE(events.find("data: 1\n\n"), std::string::npos) << events;
  EXPECT_NE(events.find("data: {\"error\":"), std::string::npos) << events;
  EXPECT_FALSE(events.ends_with("0\r\n\r\n")) << "a last chunk would say that the body is whole";
  EXPECT_EQ(told, 500);
  const std::string plain = all("/throws/text/plain");
  EXPECT_NE(plain.find("data: 1\n\n"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("error"), std::string::npos) << plain;
  EXPECT_FALSE(plain.ends_with("0\r\n\r\n"));
  EXPECT_EQ(Fetch(server_->port(), "GET", "/hello").status, 200);
}

TEST_F(Server, TheLogCountsTheBytesOfEachRequest) {
  Start();
  SetLogLevel(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  HttpProbe probe(server_->port());
  for (int i = 0; i < 3; ++i) {
    probe.Send("POST /echo HTTP/1.1\r\nx-request-id: a\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_EQ(probe.Receive().status, 200);
  }
  probe.Close();
  EXPECT_TRUE(Eventually([this] { return server_->open_connections() == 0; }));
  const std::string log = ::testing::internal::GetCapturedStderr();
  std::set<std::string> sizes;
  size_t lines = 0;
  for (size_t at = 0; (at = log.find(" bytes=", at)) != std::string::npos; ++at, ++lines) {
    sizes.insert(log.substr(at, log.find(' ', at + 1) - at));
  }
  EXPECT_EQ(lines, 3u) << log;
  EXPECT_EQ(sizes.size(), 1u) << log;
}

TEST_F(Server, PortInUseNamesPortAndOption) {
  Start();
  ServerOptions second = options_;
  second.port = server_->port();
  try {
    HttpServer other(second, [](const HttpRequest&) { return HttpResponse{}; });
    FAIL() << "two servers on one port";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(second.port)), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--port"), std::string::npos) << error.what();
  }
}

TEST_F(Server, KeysHostsAndOrigins) {
  options_.access = {
      .api_keys = {"secret", "other"}, .cors_origins = {"https://a.example"}, .allowed_hosts = {"localhost", "[::1]"}};
  for (const char* path : {"/health", "/health/live"}) {
    router_.Add("GET", path, [](const HttpRequest&) { return HttpResponse{}; });
  }
  Start();
  const auto status = [this](const std::string& path, const std::string& lines) {
    return Raw("GET " + path + " HTTP/1.1\r\nHost: localhost:1\r\n" + lines + "\r\n").status;
  };
  EXPECT_EQ(status("/hello", ""), 401);
  EXPECT_EQ(status("/hello", "Authorization: Bearer wrong\r\n"), 401);
  EXPECT_EQ(status("/hello", "Authorization: Bearer secre\r\n"), 401);
  EXPECT_EQ(status("/hello", "Authorization: Bearer secret\r\n"), 200);
  EXPECT_EQ(status("/hello", "x-api-key: other\r\n"), 200);
  EXPECT_EQ(status("/health", ""), 200);
  EXPECT_EQ(Raw("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(Raw("GET /health/live HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n").status, 200);
  EXPECT_EQ(Raw("GET /health HTTP/1.1\r\nHost: [::1]:30000\r\n\r\n").status, 200);
  const HttpReply asked = Raw("OPTIONS /hello HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n\r\n");
  EXPECT_EQ(asked.headers.at("access-control-allow-origin"), "https://a.example");
  EXPECT_EQ(asked.headers.at("vary"), "Origin");
  EXPECT_NE(asked.headers.at("access-control-expose-headers").find("x-request-id"), std::string::npos);
  EXPECT_NE(asked.headers.at("access-control-allow-headers").find("x-session-id"), std::string::npos);
  const auto allowed = [this](const std::string& wanted) {
    return Raw("OPTIONS /hello HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\n"
               "Access-Control-Request-Headers: " +
               wanted + "\r\n\r\n")
        .headers.at("access-control-allow-headers");
  };
  EXPECT_EQ(allowed("authorization, x-stainless-os"), "authorization, x-stainless-os");
  EXPECT_EQ(allowed("a;b"), asked.headers.at("access-control-allow-headers"));
  EXPECT_EQ(Raw("GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: https://b.example\r\n\r\n")
                .headers.count("access-control-allow-origin"),
            0u);
}

}  // namespace
}  // namespace hearth::http
