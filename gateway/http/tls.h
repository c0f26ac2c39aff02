#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace hearth::http {

// How a read or write that does not block ended.
enum class IoOutcome { kDone, kWantRead, kWantWrite, kClosed };

// The server's certificate and key: TLS 1.2 or later, HTTP/1.1 only, no renegotiation. Shared by all connections.
class TlsContext {
 public:
  // Both are PEM files; the certificate's may hold its chain. Throws StartupError when they cannot be read or do not
  // belong together. From here on the process ignores SIGPIPE, which the library's writes can raise.
  TlsContext(const std::string& cert_file, const std::string& key_file);
  ssl_ctx_st* get() const { return context_.get(); }

 private:
  std::shared_ptr<ssl_ctx_st> context_;
};

// The server's end of TLS on a socket. Never blocks: whoever uses it waits for what an outcome asks for.
class TlsSession {
 public:
  // Makes the socket non-blocking; it outlives this.
  TlsSession(const TlsContext& context, int fd);

  IoOutcome Handshake();
  IoOutcome Read(char* to, size_t size, size_t& got);
  // After kWantRead or kWantWrite the next call must begin with the same bytes.
  IoOutcome Write(std::string_view data, size_t& sent);
  // Whether bytes have been decrypted that no Read() has taken.
  bool HasPending() const;
  void SendClose();

 private:
  IoOutcome OutcomeOf(int result);

  std::shared_ptr<ssl_st> session_;
  bool failed_ = false;  // after a fatal error nothing more may be sent
};

}  // namespace hearth::http
