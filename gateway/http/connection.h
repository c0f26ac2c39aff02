#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/deadline.h"
#include "common/base/unique_fd.h"
#include "gateway/http/tls.h"

namespace hearth::http {

struct ConnectionLimits {
  // From a request's first byte to the end of its head; of a new connection from accept, with the TLS handshake.
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};   // whole body
  std::chrono::milliseconds write_timeout{10'000};  // for kLeastTaken bytes of a write, or what is left of it
  std::chrono::milliseconds idle_timeout{30'000};   // between requests of a connection
  size_t header_bytes = 64 * 1024;
  size_t body_bytes = size_t{32} << 20;
};

// What a client must take of a long write in every write timeout. The timeout alone would cut one that reads steadily;
// any byte renewing it would let one that reads next to nothing hold a thread for days.
constexpr size_t kLeastTaken = 64 * 1024;

// How reading ended. Everything but kOk ends the connection.
enum class ReadOutcome { kOk, kClosed, kTimeout, kTooLarge, kMalformed, kNoRoom };

// A client's socket with absolute deadlines: a peer that sends or takes a byte at a time gains no time by it. Owned
// and used by one thread. With TLS the same deadlines hold: they bound the time of the wire, not of single reads.
class Connection {
 public:
  // `tls`: null for plain HTTP; outlives this.
  Connection(UniqueFd fd, const ConnectionLimits& limits, const TlsContext* tls = nullptr);

  // The TLS handshake, within the first head's time; nothing to do without TLS. False ends the connection.
  bool Handshake();

  // Waits for the first byte of a request, of a connection's `first` within the time of its head. False when there is
  // none: the peer closed, the idle time is over, or `wake_fd` became readable (-1: none).
  bool WaitForRequest(int wake_fd, bool first);
  // Reads up to and including the empty line that ends a request's head.
  ReadOutcome ReadHead(std::string& head);
  // Asked before each part of a body is kept; false ends the reading with kNoRoom.
  void SetBodyMeter(std::function<bool(size_t bytes)> admit) { admit_ = std::move(admit); }
  // Reads `length` bytes of body, at most the limit.
  ReadOutcome ReadBody(size_t length, std::string& body);
  // Reads a body in chunked coding, trailers dropped.
  ReadOutcome ReadChunkedBody(std::string& body);

  // False once the peer left, or took less than kLeastTaken bytes within the write timeout and not the rest either.
  bool Write(std::string_view data);
  bool broken() const { return broken_; }
  bool write_timed_out() const { return write_timed_out_; }
  size_t bytes_written() const { return bytes_written_; }

  // Whether the peer has closed its side. Never blocks.
  bool PeerLeft() const;
  std::string PeerAddress() const;
  // Sends what is left and gives the peer a moment to take it before the socket closes.
  void CloseGently();

 private:
  IoOutcome ReadSome(char* to, size_t size, size_t& got);
  IoOutcome WriteSome(std::string_view data, size_t& sent);
  void Await(IoOutcome wanted, Deadline deadline);
  ReadOutcome Fill(Deadline deadline);  // at least one more byte into buffer_
  ReadOutcome ReadLine(Deadline deadline, std::string& line);
  ReadOutcome Take(size_t bytes, Deadline deadline, std::string& out);

  UniqueFd fd_;
  const ConnectionLimits& limits_;
  std::optional<TlsSession> tls_;
  Deadline head_deadline_;
  std::string buffer_;  // received, not yet used
  std::function<bool(size_t)> admit_ = [](size_t) { return true; };
  bool broken_ = false;
  bool write_timed_out_ = false;
  size_t bytes_written_ = 0;
};

}  // namespace hearth::http
