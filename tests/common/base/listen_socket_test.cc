#include "common/base/listen_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/base/startup_error.h"

namespace hearth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ErrorOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const StartupError& error) {
    return error.what();
  }
  return "";
}

TEST(ListenTcp, RefusesATakenPortAndNamesTheOption) {
  const UniqueFd first = ListenTcp("127.0.0.1", 0, "--port");
  const int port = BoundPort(first.get());
  ASSERT_GT(port, 0);
  EXPECT_THAT(ErrorOf([&] { ListenTcp("127.0.0.1", port, "--port"); }),
              AllOf(HasSubstr("127.0.0.1:" + std::to_string(port)), HasSubstr("in use"), HasSubstr("--port")));
}

TEST(ListenTcp, RefusesWhatIsNoAddress) {
  EXPECT_THAT(ErrorOf([] { ListenTcp("256.0.0.1.invalid", 0, "--port"); }), HasSubstr("256.0.0.1.invalid"));
  EXPECT_THAT(ErrorOf([] { ListenTcp("127.0.0.1", 70000, "--port"); }), HasSubstr("70000"));
}

TEST(IsConnectAddress, TakesWhatAClientCanConnectTo) {
  for (const char* text : {"localhost:30001", "127.0.0.1:1", "[::1]:65535", "unix:/run/x.sock", "unix:x",
                           "dns:///hearth-workers.default.svc:30001", "gpu_worker:30001"}) {
    EXPECT_TRUE(IsConnectAddress(text)) << text;
  }
  for (const char* text : {"", "nonsense", "host:", ":30001", "host:99999", "host:0", "::1:30001",
                           "unix:", "dns:///name", "http://host:30001", "host:30001/", "a b:1", "host:port"}) {
    EXPECT_FALSE(IsConnectAddress(text)) << text;
  }
}

TEST(SplitHostPort, TakesNamesAndBracketedAddresses) {
  const auto plain = SplitHostPort("localhost:80");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->host, "localhost");
  EXPECT_EQ(plain->port, 80);
  const auto v6 = SplitHostPort("[::1]:0");
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);
  for (const char* text : {"", "host", "host:", ":80", "::1:80", "host:x", "host:70000", "host:-1", "[]:1", "[::1:1"}) {
    EXPECT_FALSE(SplitHostPort(text).has_value()) << text;
  }
}

TEST(RemoveStaleUnixSocket, RemovesOnlySocketsNobodyListensOn) {
  const std::string path = ::testing::TempDir() + "stale.sock";
  ::unlink(path.c_str());
  RemoveStaleUnixSocket(path, "--listen");  // nothing there

  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_THAT(ErrorOf([&] { RemoveStaleUnixSocket(path, "--listen"); }), AllOf(HasSubstr(path), HasSubstr("--listen")));
  EXPECT_TRUE(std::filesystem::exists(path));

  listener.Reset();
  RemoveStaleUnixSocket(path, "--listen");
  EXPECT_FALSE(std::filesystem::exists(path));

  std::ofstream(path) << "precious";
  EXPECT_THAT(ErrorOf([&] { RemoveStaleUnixSocket(path, "--listen"); }), HasSubstr("another kind"));
  EXPECT_TRUE(std::filesystem::exists(path));
  ::unlink(path.c_str());
  EXPECT_THAT(ErrorOf([&] { RemoveStaleUnixSocket(std::string(200, 'x'), "--listen"); }), HasSubstr("shorten"));
}

}  // namespace
}  // namespace hearth
