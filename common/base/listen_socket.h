#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"

namespace hearth {

// A TCP socket that listens on host:port: a numeric IPv4 or IPv6 address ("::" takes both families), or a name. A port
// that another process listens on is refused, never shared: SO_REUSEADDR is set, SO_REUSEPORT is not. Port 0 takes a
// free one. Throws StartupError that names the address and `port_option`, the option that changes it.
UniqueFd ListenTcp(const std::string& host, int port, const std::string& port_option, int backlog = 64);

// The port a listening TCP socket has.
int BoundPort(int fd);

// "host:port", with brackets around an IPv6 address.
std::string HostPort(const std::string& host, int port);

struct HostAndPort {
  std::string host;
  int port = 0;
};
// Takes "host:port" or "[ipv6]:port" apart; nothing for other text and for ports above 65535.
std::optional<HostAndPort> SplitHostPort(std::string_view text);

// Whether a gRPC client can connect to it: "host:port", "[ipv6]:port", "unix:PATH" or "dns:///name:port". gRPC itself
// takes any text for a name, and then looks for a server that never answers.
bool IsConnectAddress(std::string_view text);

// Clears the way for listening on a Unix socket: removes a left-over socket file that nobody listens on. Throws
// StartupError that names the path and `option` when somebody does, when the path is another kind of file, when its
// folder cannot be written, or when it is too long for a socket address.
void RemoveStaleUnixSocket(const std::string& path, const std::string& option);

}  // namespace hearth
