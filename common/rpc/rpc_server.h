#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/rpc/rpc_credentials.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace hearth {

// A gRPC server with the standard health service, reflection, 64 MiB messages and keepalive. Health says NOT_SERVING
// until SetServing(true). Each running call of a synchronous service holds one thread.
class RpcServer {
 public:
  struct Options {
    std::string listen;                      // "127.0.0.1:30001", "[::]:30001", "unix:/run/hearth/worker.sock"
    std::string listen_option = "--listen";  // the option to name when the address cannot be had
    int max_threads = 256;                   // calls beyond get RESOURCE_EXHAUSTED
    ServerTls tls = {};
  };

  // Listens and serves at once. The services must outlive this object. Throws StartupError when the address is taken
  // or is none, or a file of `tls` is of no use; a left-over Unix socket nobody listens on is replaced.
  RpcServer(const Options& options, const std::vector<grpc::Service*>& services);
  ~RpcServer();  // as Shutdown() with no time left
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  int port() const { return port_; }  // of TCP; useful when 0 was asked for

  // What the health service tells, for the server as a whole and for every service.
  void SetServing(bool serving);

  // Refuses new calls, lets running ones go on until the deadline, cancels the rest (their clients see UNAVAILABLE) and
  // returns when all have ended.
  void Shutdown(Deadline deadline);

 private:
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace hearth
