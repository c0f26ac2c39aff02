#pragma once

#include <memory>
#include <string>

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace hearth {

// PEM files of a server that speaks TLS; without a certificate it speaks plain HTTP/2.
struct ServerTls {
  std::string cert;       // --grpc-tls-cert
  std::string key;        // --grpc-tls-key
  std::string client_ca;  // --grpc-tls-client-ca: who must have signed a client's certificate; empty: none is asked for
};

// PEM files of a client whose server speaks TLS; without `ca` it speaks plain HTTP/2.
struct ClientTls {
  std::string ca;         // --worker-tls-ca: who must have signed the server's certificate
  std::string cert, key;  // --worker-tls-cert, --worker-tls-key: our own, for a server that asks for one
  std::string name;       // --worker-tls-name: whom the server's certificate must name; empty: the host of the address
};

// Both read the files now and throw StartupError, which names file and option, when one is of no use: gRPC itself would
// tell in several log lines, or only when a connection fails.
std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const ServerTls& tls);
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const ClientTls& tls);

}  // namespace hearth
