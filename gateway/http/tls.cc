#include "gateway/http/tls.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <csignal>

#include "common/base/check.h"
#include "common/tls/pem_files.h"

namespace hearth::http {
namespace {

constexpr unsigned char kProtocols[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// A client that offers HTTP/2 as well gets HTTP/1.1; one that offers only others is served without an agreement.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                   unsigned int offered_length, void*) {
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, length, kProtocols, sizeof kProtocols, offered, offered_length);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

TlsContext::TlsContext(const std::string& cert_file, const std::string& key_file)
    : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
  HEARTH_CHECK(context_ != nullptr, "TLS library");
  std::signal(SIGPIPE, SIG_IGN);
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  UseKeyPair(context, {.cert = cert_file, .key = key_file, .cert_option = "--tls-cert", .key_option = "--tls-key"});
}

TlsSession::TlsSession(const TlsContext& context, int fd) : session_(SSL_new(context.get()), SSL_free) {
  HEARTH_CHECK(session_ != nullptr, "TLS session");
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  SSL_set_fd(session_.get(), fd);
}

IoOutcome TlsSession::OutcomeOf(int result) {
  if (result > 0) return IoOutcome::kDone;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return IoOutcome::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return IoOutcome::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return IoOutcome::kClosed;
    default:
      failed_ = true;
      return IoOutcome::kClosed;
  }
}

// The library looks at the thread's error queue to tell outcomes apart, so each call starts with an empty one.

IoOutcome TlsSession::Handshake() {
  ERR_clear_error();
  return OutcomeOf(SSL_accept(session_.get()));
}

IoOutcome TlsSession::Read(char* to, size_t size, size_t& got) {
  ERR_clear_error();
  return OutcomeOf(SSL_read_ex(session_.get(), to, size, &got));
}

IoOutcome TlsSession::Write(std::string_view data, size_t& sent) {
  ERR_clear_error();
  return OutcomeOf(SSL_write_ex(session_.get(), data.data(), data.size(), &sent));
}

bool TlsSession::HasPending() const { return SSL_pending(session_.get()) > 0; }

void TlsSession::SendClose() {
  ERR_clear_error();
  if (!failed_) SSL_shutdown(session_.get());
  ERR_clear_error();
}

}  // namespace hearth::http
