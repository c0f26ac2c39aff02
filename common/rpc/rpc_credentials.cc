#include "common/rpc/rpc_credentials.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <openssl/ssl.h>

#include <fstream>
#include <iterator>

#include "common/base/check.h"
#include "common/tls/pem_files.h"

namespace hearth {
namespace {

using ContextPtr = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

// Nothing is served with it: files that it takes are files that gRPC takes.
ContextPtr NewContext() {
  ContextPtr context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  HEARTH_CHECK(context != nullptr, "TLS library");
  return context;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const ServerTls& tls) {
  if (tls.cert.empty()) return grpc::InsecureServerCredentials();
  const ContextPtr context = NewContext();
  UseKeyPair(context.get(),
             {.cert = tls.cert, .key = tls.key, .cert_option = "--grpc-tls-cert", .key_option = "--grpc-tls-key"});
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  if (!tls.client_ca.empty()) {
    UseAuthorities(context.get(), tls.client_ca, "--grpc-tls-client-ca");
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    options.pem_root_certs = ReadText(tls.client_ca);
  }
  options.pem_key_cert_pairs.push_back({ReadText(tls.key), ReadText(tls.cert)});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const ClientTls& tls) {
  if (tls.ca.empty()) return grpc::InsecureChannelCredentials();
  const ContextPtr context = NewContext();
  UseAuthorities(context.get(), tls.ca, "--worker-tls-ca");
  grpc::SslCredentialsOptions options{.pem_root_certs = ReadText(tls.ca)};
  if (!tls.cert.empty()) {
    UseKeyPair(
        context.get(),
        {.cert = tls.cert, .key = tls.key, .cert_option = "--worker-tls-cert", .key_option = "--worker-tls-key"});
    options.pem_private_key = ReadText(tls.key);
    options.pem_cert_chain = ReadText(tls.cert);
  }
  return grpc::SslCredentials(options);
}

}  // namespace hearth
