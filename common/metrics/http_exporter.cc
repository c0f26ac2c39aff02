#include "common/metrics/http_exporter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <string_view>

#include "common/base/check.h"
#include "common/base/deadline.h"
#include "common/base/listen_socket.h"

namespace hearth {
namespace {

constexpr std::chrono::seconds kIoTime{2};
constexpr size_t kMaxRequestBytes = 8192;

// Waits for the socket until the deadline, or until `stop` is readable.
bool Ready(int fd, short events, int stop, Deadline deadline) {
  pollfd entries[] = {{fd, events, 0}, {stop, POLLIN, 0}};
  while (!deadline.Passed()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Left());
    const int count = ::poll(entries, 2, static_cast<int>(left.count()));
    if (count < 0 && errno != EINTR) return false;
    if (entries[1].revents != 0) return false;
    if (count > 0) return entries[0].revents != 0;
  }
  return false;
}

// The request up to the blank line, or "" when it does not come in time or is too large.
std::string ReadHead(int fd, int stop) {
  const Deadline deadline = Deadline::After(kIoTime);
  std::string head;
  char buffer[1024];
  while (head.size() < kMaxRequestBytes && Ready(fd, POLLIN, stop, deadline)) {
    const ssize_t count = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return "";
    head.append(buffer, static_cast<size_t>(count));
    if (head.find("\r\n\r\n") != std::string::npos || head.find("\n\n") != std::string::npos) return head;
  }
  return "";
}

void WriteAll(int fd, int stop, std::string_view data) {
  const Deadline deadline = Deadline::After(kIoTime);
  while (!data.empty() && Ready(fd, POLLOUT, stop, deadline)) {
    const ssize_t count = ::send(fd, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return;
    data.remove_prefix(static_cast<size_t>(count));
  }
}

std::string Response(std::string_view status, std::string_view type, std::string_view body, bool with_body) {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\nContent-Type: ").append(type);
  text.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  text.append("\r\nConnection: close\r\n\r\n");
  if (with_body) text.append(body);
  return text;
}

}  // namespace

HttpExporter::HttpExporter(const std::string& host, int port, const std::string& port_option,
                           std::function<std::string()> expose)
    : expose_(std::move(expose)), listener_(ListenTcp(host, port, port_option)) {
  stop_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  HEARTH_CHECK(stop_.valid(), "eventfd failed");
  port_ = BoundPort(listener_.get());
  thread_ = std::thread([this] { Run(); });
}

HttpExporter::~HttpExporter() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

void HttpExporter::Run() {
  for (;;) {
    pollfd entries[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    if (entries[0].revents == 0) continue;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid()) {
      Serve(connection.get());
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ::poll(&entries[1], 1, 100);  // out of descriptors: the listener stays readable, so pause
    }
  }
}

void HttpExporter::Serve(int connection) {
  const std::string head = ReadHead(connection, stop_.get());
  const std::string_view line = std::string_view(head).substr(0, head.find_first_of("\r\n"));
  const size_t method_end = line.find(' ');
  if (method_end == std::string_view::npos) return;
  const std::string_view method = line.substr(0, method_end);
  std::string_view path = line.substr(method_end + 1);
  path = path.substr(0, path.find_first_of(" ?"));

  constexpr std::string_view kText = "text/plain; charset=utf-8";
  std::string answer;
  if (method != "GET" && method != "HEAD") {
    answer = Response("405 Method Not Allowed", kText, "only GET is served here\n", true);
  } else if (path != "/metrics") {
    answer = Response("404 Not Found", kText, "metrics are at /metrics\n", method == "GET");
  } else {
    answer = Response("200 OK", "text/plain; version=0.0.4; charset=utf-8", expose_(), method == "GET");
  }
  WriteAll(connection, stop_.get(), answer);
  ::shutdown(connection, SHUT_WR);
}

}  // namespace hearth
