// HTTPS: curl as the client, a certificate made here.
#include "gateway/http/tls.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "common/base/startup_error.h"
#include "common/log/log.h"
#include "gateway/http/http_server.h"
#include "gateway/http/router.h"
#include "tests/support/certificates.h"
#include "tests/support/http_probe.h"

namespace hearth::http {
namespace {

using namespace std::chrono_literals;
using test::HttpProbe;

class Tls : public ::testing::Test {
 protected:
  Tls() {
    SetLogLevel(LogLevel::kError);
    std::string name = (std::filesystem::temp_directory_path() / "hearth-tls-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
    test::MakeCertificate({Path("cert.pem"), Path("key.pem")}, "DNS:localhost");
    options_.port = 0;
    options_.tls_cert = Path("cert.pem");
    options_.tls_key = Path("key.pem");
    router_.Add("GET", "/hello", [](const HttpRequest&) { return HttpResponse{.body = "\"hi\""}; });
    router_.Add("POST", "/echo", [](const HttpRequest& request) { return HttpResponse{.body = request.body}; });
    router_.Add("GET", "/stream", [this](const HttpRequest&) {
      HttpResponse response{.content_type = "text/event-stream"};
      response.stream = [this](BodyWriter& body) {
        const std::string line(1024, 'x');
        while (body.Write(line)) {
        }
        ++ended_;
        timed_out_ = body.timed_out();
      };
      return response;
    });
    router_.Add("GET", "/wait", [this](const HttpRequest& request) {
      ++waiting_;
      while (!request.client_left()) std::this_thread::sleep_for(2ms);
      ++left_;
      return HttpResponse{.body = "\"waited\""};
    });
  }
  ~Tls() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }

  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  void Start() {
    server_ = std::make_unique<HttpServer>(options_, [this](const HttpRequest& r) { return router_.Route(r); });
    server_->Start();
  }
  // What curl prints.
  std::string Curl(const std::string& arguments, const std::string& path) const {
    const std::string command = "curl -sS --max-time 20 --noproxy '*' --cacert " + options_.tls_cert + " " + arguments +
                                " https://localhost:" + std::to_string(server_->port()) + path + " 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string output;
    std::array<char, 4096> part;
    for (size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) output.append(part.data(), got);
    ::pclose(pipe);
    return output;
  }
  // The refusal to start.
  std::string Refusal() {
    try {
      Start();
    } catch (const StartupError& error) {
      return error.what();
    }
    return "";
  }
  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(2ms);
    return condition();
  }

  std::string dir_;
  ServerOptions options_;
  Router router_;
  std::atomic<int> ended_{0}, waiting_{0}, left_{0};
  std::atomic<bool> timed_out_{false};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Tls, CurlTrustsTheCertificateAndIsAnswered) {
  Start();
  EXPECT_EQ(Curl("-w ' %{http_version} %{num_connects}'", "/hello"), "\"hi\" 1.1 1");
  // The certificate is what makes it trusted.
  const std::string trusted = std::exchange(options_.tls_cert, "/etc/ssl/certs/ca-certificates.crt");
  EXPECT_NE(Curl("", "/hello").find("certificate"), std::string::npos);
  options_.tls_cert = trusted;
  EXPECT_EQ(Curl("--tls-max 1.2", "/hello"), "\"hi\"");
  EXPECT_NE(Curl("--tls-max 1.1", "/hello"), "\"hi\"");
}

TEST_F(Tls, LargeBodiesPassBothWays) {
  Start();
  std::string body;
  for (int i = 0; body.size() < 5'000'000; ++i) body += std::to_string(i) + ",";
  std::ofstream(Path("body")) << body;
  EXPECT_EQ(Curl("-H 'Expect:' --data-binary @" + Path("body"), "/echo"), body);
  EXPECT_EQ(Curl("-H 'Transfer-Encoding: chunked' --data-binary @" + Path("body"), "/echo"), body);
  // A connection is used again.
  const std::string url = " https://localhost:" + std::to_string(server_->port()) + "/hello";
  EXPECT_EQ(Curl("-w '%{num_connects}'" + url, "/hello"), "\"hi\"1\"hi\"0");
}

TEST_F(Tls, AHandshakeThatDawdlesIsCut) {
  options_.limits.header_timeout = 150ms;
  Start();
  HttpProbe silent(server_->port());
  EXPECT_TRUE(silent.WaitClosed());
  // A record that announces 512 bytes and brings one at a time.
  HttpProbe slow(server_->port());
  ASSERT_TRUE(slow.Send(std::string("\x16\x03\x01\x02\x00", 5)));
  EXPECT_TRUE(Eventually([&] {
    std::this_thread::sleep_for(10ms);
    return !slow.Send("\x01");
  }));
  EXPECT_TRUE(Eventually([this] { return server_->open_connections() == 0; }));
}

TEST_F(Tls, PlainHttpIsNotAnswered) {
  Start();
  EXPECT_EQ(test::Fetch(server_->port(), "GET", "/hello").status, 0);
  EXPECT_EQ(Curl("", "/hello"), "\"hi\"");
}

TEST_F(Tls, AClientThatLeavesOrDoesNotReadIsSeen) {
  options_.limits.write_timeout = 200ms;
  Start();
  EXPECT_NE(Curl("--max-time 1", "/wait"), "\"waited\"");
  EXPECT_TRUE(Eventually([this] { return left_ == 1; }));
  // Stopped by its reader: curl writes into a pipe that nobody empties.
  const std::string command = "curl -sS -N --max-time 20 --noproxy '*' --cacert " + options_.tls_cert +
                              " https://localhost:" + std::to_string(server_->port()) + "/stream 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  EXPECT_TRUE(Eventually([this] { return ended_ == 1; }));
  EXPECT_TRUE(timed_out_);
  ::pclose(pipe);
}

TEST_F(Tls, FilesThatDoNotFitAreRefusedAtStart) {
  test::MakeCertificate({Path("other.pem"), Path("other-key.pem")}, "DNS:localhost");
  std::ofstream(Path("junk.pem")) << "nothing of use\n";
  struct Case {
    std::string cert, key, named;
  };
  for (const Case& c : {Case{"absent.pem", "key.pem", "--tls-cert"}, Case{"junk.pem", "key.pem", "--tls-cert"},
                        Case{"cert.pem", "absent.pem", "--tls-key"}, Case{"cert.pem", "junk.pem", "--tls-key"},
                        Case{"cert.pem", "other-key.pem", "--tls-key"}, Case{"cert.pem", "cert.pem", "--tls-key"}}) {
    options_.tls_cert = Path(c.cert);
    options_.tls_key = Path(c.key);
    const std::string refusal = Refusal();
    EXPECT_NE(refusal.find(c.named), std::string::npos) << c.cert << " " << c.key << ": " << refusal;
    EXPECT_EQ(refusal.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::http
