#pragma once

#include <memory>
#include <string>

#include "common/rpc/rpc_credentials.h"

namespace grpc {
class Channel;
}

namespace hearth {

// A channel to "host:port" or "unix:PATH", or to all addresses of "dns:///name:port" in turn, with the limits of
// RpcServer: 64 MiB messages, keepalive, reconnecting after 100 ms to 1 s. Connects when first used.
// Throws StartupError when a file of `tls` is of no use.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target, const ClientTls& tls = {});

}  // namespace hearth
