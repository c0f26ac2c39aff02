#pragma once

#include <string>

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

}  // namespace hearth
