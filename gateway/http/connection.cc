#include "gateway/http/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace hearth::http {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kChunkLineBytes = 1024;
constexpr int kUnsentBytes = 128 * 1024;

int PollMillis(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Left()).count();
  return static_cast<int>(std::min<long long>(left, 3'600'000));
}

}  // namespace

Connection::Connection(UniqueFd fd, const ConnectionLimits& limits, const TlsContext* tls)
    : fd_(std::move(fd)), limits_(limits), head_deadline_(Deadline::After(limits.header_timeout)) {
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // With little waiting in the kernel, what a write gets rid of is what the peer takes, not megabytes at a time.
  const int unsent = kUnsentBytes;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
  if (tls != nullptr) tls_.emplace(*tls, fd_.get());
}

bool Connection::Handshake() {
  if (!tls_) return true;
  while (true) {
    const IoOutcome outcome = tls_->Handshake();
    if (outcome == IoOutcome::kDone) return true;
    if (outcome == IoOutcome::kClosed || head_deadline_.Passed()) return false;
    Await(outcome, head_deadline_);
  }
}

IoOutcome Connection::ReadSome(char* to, size_t size, size_t& got) {
  if (tls_) return tls_->Read(to, size, got);
  const ssize_t result = ::recv(fd_.get(), to, size, MSG_DONTWAIT);
  if (result > 0) {
    got = static_cast<size_t>(result);
    return IoOutcome::kDone;
  }
  const bool later = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return later ? IoOutcome::kWantRead : IoOutcome::kClosed;
}

IoOutcome Connection::WriteSome(std::string_view data, size_t& sent) {
  if (tls_) return tls_->Write(data, sent);
  const ssize_t result = ::send(fd_.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result > 0) {
    sent = static_cast<size_t>(result);
    return IoOutcome::kDone;
  }
  const bool later = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return later ? IoOutcome::kWantWrite : IoOutcome::kClosed;
}

void Connection::Await(IoOutcome wanted, Deadline deadline) {
  pollfd fd = {fd_.get(), static_cast<short>(wanted == IoOutcome::kWantWrite ? POLLOUT : POLLIN), 0};
  ::poll(&fd, 1, PollMillis(deadline));
}

bool Connection::WaitForRequest(int wake_fd, bool first) {
  if (!first) head_deadline_ = Deadline::After(limits_.header_timeout);
  if (!buffer_.empty()) return true;
  if (tls_ && tls_->HasPending()) return Fill(head_deadline_) == ReadOutcome::kOk;
  const Deadline deadline = first ? head_deadline_ : Deadline::After(limits_.idle_timeout);
  while (true) {
    pollfd fds[2] = {{fd_.get(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
    const int ready = ::poll(fds, wake_fd >= 0 ? 2 : 1, PollMillis(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    // A request that is already here is answered even while draining: with 503.
    if (fds[0].revents != 0) {
      if (Fill(deadline) != ReadOutcome::kOk) return false;
      if (!first) head_deadline_ = Deadline::After(limits_.header_timeout);
      return true;
    }
    if (fds[1].revents != 0) return false;
  }
}

ReadOutcome Connection::Fill(Deadline deadline) {
  char bytes[kReadBytes];
  while (true) {
    size_t got = 0;
    const IoOutcome outcome = ReadSome(bytes, sizeof bytes, got);
    if (outcome == IoOutcome::kDone) {
      buffer_.append(bytes, got);
      return ReadOutcome::kOk;
    }
    if (outcome == IoOutcome::kClosed) return ReadOutcome::kClosed;
    if (deadline.Passed()) return ReadOutcome::kTimeout;
    Await(outcome, deadline);
  }
}

ReadOutcome Connection::ReadHead(std::string& head) {
  size_t searched = 0;
  while (true) {
    const size_t end = buffer_.find("\r\n\r\n", searched);
    if (end != std::string::npos && end + 4 <= limits_.header_bytes) {
      head.assign(buffer_, 0, end + 4);
      buffer_.erase(0, end + 4);
      return ReadOutcome::kOk;
    }
    if (buffer_.size() > limits_.header_bytes) return ReadOutcome::kTooLarge;
    if (head_deadline_.Passed()) return ReadOutcome::kTimeout;
    searched = buffer_.size() < 3 ? 0 : buffer_.size() - 3;
    if (const ReadOutcome outcome = Fill(head_deadline_); outcome != ReadOutcome::kOk) return outcome;
  }
}

ReadOutcome Connection::Take(size_t bytes, Deadline deadline, std::string& out) {
  while (bytes > 0) {
    if (buffer_.empty()) {
      if (deadline.Passed()) return ReadOutcome::kTimeout;
      if (const ReadOutcome outcome = Fill(deadline); outcome != ReadOutcome::kOk) return outcome;
    }
    const size_t part = std::min(bytes, buffer_.size());
    if (!admit_(part)) return ReadOutcome::kNoRoom;
    out.append(buffer_, 0, part);
    buffer_.erase(0, part);
    bytes -= part;
  }
  return ReadOutcome::kOk;
}

ReadOutcome Connection::ReadBody(size_t length, std::string& body) {
  if (length > limits_.body_bytes) return ReadOutcome::kTooLarge;
  return Take(length, Deadline::After(limits_.body_timeout), body);
}

ReadOutcome Connection::ReadLine(Deadline deadline, std::string& line) {
  while (true) {
    const size_t end = buffer_.find("\r\n");
    if (end != std::string::npos) {
      line.assign(buffer_, 0, end);
      buffer_.erase(0, end + 2);
      return ReadOutcome::kOk;
    }
    if (buffer_.size() > kChunkLineBytes) return ReadOutcome::kMalformed;
    if (deadline.Passed()) return ReadOutcome::kTimeout;
    if (const ReadOutcome outcome = Fill(deadline); outcome != ReadOutcome::kOk) return outcome;
  }
}

ReadOutcome Connection::ReadChunkedBody(std::string& body) {
  const Deadline deadline = Deadline::After(limits_.body_timeout);
  std::string line;
  while (true) {
    if (const ReadOutcome outcome = ReadLine(deadline, line); outcome != ReadOutcome::kOk) return outcome;
    size_t length = 0;
    const char* const line_end = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), line_end, length, 16);
    if (error != std::errc() || (end != line_end && *end != ';')) return ReadOutcome::kMalformed;
    if (length == 0) break;
    if (length > limits_.body_bytes - body.size()) return ReadOutcome::kTooLarge;
    if (const ReadOutcome outcome = Take(length, deadline, body); outcome != ReadOutcome::kOk) return outcome;
    if (const ReadOutcome outcome = ReadLine(deadline, line); outcome != ReadOutcome::kOk) return outcome;
    if (!line.empty()) return ReadOutcome::kMalformed;
  }
  for (int trailers = 0; trailers < 64; ++trailers) {
    if (const ReadOutcome outcome = ReadLine(deadline, line); outcome != ReadOutcome::kOk) return outcome;
    if (line.empty()) return ReadOutcome::kOk;
  }
  return ReadOutcome::kMalformed;
}

bool Connection::Write(std::string_view data) {
  if (broken_) return false;
  Deadline deadline = Deadline::After(limits_.write_timeout);
  size_t taken = 0;  // since the deadline was set
  while (!data.empty()) {
    size_t sent = 0;
    const IoOutcome outcome = WriteSome(data, sent);
    if (outcome == IoOutcome::kDone) {
      data.remove_prefix(sent);
      bytes_written_ += sent;
      taken += sent;
      if (taken >= kLeastTaken) {
        taken = 0;
        deadline = Deadline::After(limits_.write_timeout);
      }
      continue;
    }
    write_timed_out_ = outcome != IoOutcome::kClosed && deadline.Passed();
    if (write_timed_out_ || outcome == IoOutcome::kClosed) {
      broken_ = true;
      return false;
    }
    Await(outcome, deadline);
  }
  return true;
}

bool Connection::PeerLeft() const {
  if (broken_) return true;
  pollfd fd = {fd_.get(), POLLRDHUP, 0};
  return ::poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

std::string Connection::PeerAddress() const {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = "";
  if (::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

void Connection::CloseGently() {
  if (tls_ && !broken_) tls_->SendClose();
  tls_.reset();  // what still comes is read away undeciphered
  ::shutdown(fd_.get(), SHUT_WR);
  // Closing with unread data resets the connection and may take the answer with it.
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(300));
  for (int reads = 0; reads < 256; ++reads) {
    buffer_.clear();
    if (deadline.Passed() || Fill(deadline) != ReadOutcome::kOk) break;
  }
  fd_.Reset();
}

}  // namespace hearth::http
