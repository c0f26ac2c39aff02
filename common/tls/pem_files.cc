#include "common/tls/pem_files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "common/base/startup_error.h"
#include "common/base/status.h"

namespace hearth {
namespace {

// The library's reason for its last failure on this thread.
std::string Reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "no reason given" : reason;
}

// A key with a passphrase is refused instead of asking on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

void UseKeyPair(SSL_CTX* context, const KeyPairFiles& files) {
  SSL_CTX_set_default_passwd_cb(context, NoPassphrase);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, files.cert.c_str()) != 1) {
    throw StartupError(StrCat("cannot use the certificate ", files.cert, ": ", Reason(), "; ", files.cert_option,
                              " names a PEM file with the certificate and its chain"));
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    throw StartupError(StrCat("cannot use the key ", files.key, ": ", Reason(), "; ", files.key_option,
                              " names a PEM file with the key of ", files.cert, ", without a passphrase"));
  }
}

void UseAuthorities(SSL_CTX* context, const std::string& file, const std::string& option) {
  ERR_clear_error();
  if (SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) != 1) {
    throw StartupError(StrCat("cannot use the certificates of ", file, ": ", Reason(), "; ", option,
                              " names a PEM file with the certificates of those who sign"));
  }
}

}  // namespace hearth
