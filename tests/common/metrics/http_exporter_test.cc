#include "common/metrics/http_exporter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/base/startup_error.h"

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

UniqueFd Connect(int port, int family = AF_INET) {
  UniqueFd fd(::socket(family, SOCK_STREAM, 0));
  sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(static_cast<uint16_t>(port))};
  v6.sin6_addr = in6addr_loopback;
  const bool connected = family == AF_INET ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&v4), sizeof v4) == 0
                                           : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&v6), sizeof v6) == 0;
  return connected ? std::move(fd) : UniqueFd();
}

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::recv(fd, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

std::string Ask(int port, const std::string& request, int family = AF_INET) {
  const UniqueFd fd = Connect(port, family);
  if (!fd.valid()) return "not connected";
  if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "not sent";
  return ReadToEnd(fd.get());
}

TEST(HttpExporter, ServesMetricsAndNothingElse) {
  HttpExporter exporter("127.0.0.1", 0, "--metrics-port", [] { return std::string("hearth_up 1\n"); });
  EXPECT_THAT(Ask(exporter.port(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("text/plain; version=0.0.4"),
                    HasSubstr("Content-Length: 12\r\n"), EndsWith("\r\n\r\nhearth_up 1\n")));
  EXPECT_THAT(Ask(exporter.port(), "GET /metrics?x=1 HTTP/1.0\n\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask(exporter.port(), "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(Ask(exporter.port(), "POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask(exporter.port(), "HEAD /metrics HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\n"));
}

TEST(HttpExporter, SendsLargeBodiesWhole) {
  const std::string body(8 << 20, 'x');
  HttpExporter exporter("127.0.0.1", 0, "--metrics-port", [&] { return body; });
  EXPECT_THAT(Ask(exporter.port(), "GET /metrics HTTP/1.1\r\n\r\n").size(), ::testing::Gt(body.size()));
}

TEST(HttpExporter, OutlivesGarbageAndSilence) {
  HttpExporter exporter("127.0.0.1", 0, "--metrics-port", [] { return std::string("ok\n"); });
  EXPECT_EQ(Ask(exporter.port(), "\r\n\r\n"), "");
  Ask(exporter.port(), std::string(100'000, 'a'));
  const UniqueFd silent = Connect(exporter.port());  // holds the thread until its time is over
  ASSERT_TRUE(silent.valid());
  EXPECT_THAT(Ask(exporter.port(), "GET /metrics HTTP/1.1\r\n\r\n"), EndsWith("ok\n"));
}

TEST(HttpExporter, StopsWhileAClientIsSilent) {
  UniqueFd silent;
  {
    HttpExporter exporter("127.0.0.1", 0, "--metrics-port", [] { return std::string(); });
    silent = Connect(exporter.port());
    ASSERT_TRUE(silent.valid());
  }
  EXPECT_EQ(ReadToEnd(silent.get()), "");
}

TEST(HttpExporter, RefusesATakenPort) {
  HttpExporter first("127.0.0.1", 0, "--metrics-port", [] { return std::string(); });
  try {
    HttpExporter second("127.0.0.1", first.port(), "--metrics-port", [] { return std::string(); });
    FAIL() << "two exporters share a port";
  } catch (const StartupError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(std::to_string(first.port())), HasSubstr("--metrics-port")));
  }
}

TEST(HttpExporter, ServesBothFamiliesOnTheIpv6Wildcard) {
  if (!UniqueFd(::socket(AF_INET6, SOCK_STREAM, 0)).valid()) GTEST_SKIP() << "no IPv6 on this machine";
  HttpExporter exporter("::", 0, "--metrics-port", [] { return std::string("six\n"); });
  EXPECT_THAT(Ask(exporter.port(), "GET /metrics HTTP/1.1\r\n\r\n", AF_INET), EndsWith("six\n"));
  if (!Connect(exporter.port(), AF_INET6).valid()) GTEST_SKIP() << "no IPv6 loopback on this machine";
  EXPECT_THAT(Ask(exporter.port(), "GET /metrics HTTP/1.1\r\n\r\n", AF_INET6), EndsWith("six\n"));
}

}  // namespace
}  // namespace hearth
