#include "common/base/listen_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/base/check.h"
#include "common/base/scope_exit.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"

namespace hearth {
namespace {

// Listens on one address; on failure errno says why.
UniqueFd ListenOn(const addrinfo& address, int backlog) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!fd.valid()) return {};
  const int on = 1, off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const bool listening = ::bind(fd.get(), address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd.get(), backlog) == 0;
  if (listening) return fd;
  const int error = errno;  // closing may change it
  fd.Reset();
  errno = error;
  return {};
}

}  // namespace

UniqueFd ListenTcp(const std::string& host, int port, const std::string& port_option, int backlog) {
  if (port < 0 || port > 65535) {
    throw StartupError(StrCat("port ", port, " is not one; give ", port_option, " a number from 0 to 65535"));
  }
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    throw StartupError(StrCat("cannot listen on ", HostPort(host, port), ": ", ::gai_strerror(error),
                              "; give an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::"));
  }
  const ScopeExit free_found([found] { ::freeaddrinfo(found); });
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    if (UniqueFd fd = ListenOn(*address, backlog); fd.valid()) return fd;
    error = errno;
  }
  const char* help = error == EADDRINUSE ? "another process has the port; stop it or choose another one with "
                                         : "choose another one with ";
  throw StartupError(
      StrCat("cannot listen on ", HostPort(host, port), ": ", std::strerror(error), "; ", help, port_option));
}

int BoundPort(int fd) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof storage;
  HEARTH_CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) == 0, "not a socket");
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  if (storage.ss_family == AF_INET) {
    std::memcpy(&v4, &storage, sizeof v4);
    return ntohs(v4.sin_port);
  }
  std::memcpy(&v6, &storage, sizeof v6);
  return ntohs(v6.sin6_port);
}

std::string HostPort(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return StrCat(v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

std::optional<HostAndPort> SplitHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.find_first_of(":[]") != std::string_view::npos)) return std::nullopt;
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return HostAndPort{std::string(host), port};
}

bool IsConnectAddress(std::string_view text) {
  constexpr std::string_view kUnix = "unix:", kDns = "dns:///";
  if (text.find_first_of(" \t") != std::string_view::npos) return false;
  if (text.starts_with(kUnix)) return text.size() > kUnix.size();
  if (text.starts_with(kDns)) text.remove_prefix(kDns.size());
  const auto parts = SplitHostPort(text);
  return parts && parts->port != 0 && parts->host.find('/') == std::string::npos;
}

void RemoveStaleUnixSocket(const std::string& path, const std::string& option) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw StartupError(StrCat("cannot listen on unix:", path, ": a socket path has 1 to ", sizeof address.sun_path - 1,
                              " bytes; shorten it with ", option));
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw StartupError(StrCat("cannot listen on unix:", path, ": folder ", folder, ": ", std::strerror(errno),
                              "; make it writable or choose another path with ", option));
  }
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return;
  if (!S_ISSOCK(info.st_mode)) {
    throw StartupError(
        StrCat("cannot listen on unix:", path, ": it is a file of another kind; choose another path with ", option));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool answered = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // A full backlog (EAGAIN) has a listener too; only a refusal proves that there is none.
  if (answered || errno != ECONNREFUSED) {
    throw StartupError(StrCat("cannot listen on unix:", path,
                              ": another process listens there; stop it or choose another ", "path with ", option));
  }
  ::unlink(path.c_str());
}

}  // namespace hearth
