#include "common/rpc/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "common/base/listen_socket.h"
#include "common/base/startup_error.h"
#include "common/base/status.h"
#include "common/rpc/rpc_limits.h"

namespace hearth {
namespace {

constexpr std::string_view kUnixScheme = "unix:";

// gRPC itself takes over a Unix socket that another process listens on, and tells of a taken port in several log lines.
// Both are found out before it binds.
void CheckAddressIsFree(const RpcServer::Options& options) {
  if (options.listen.starts_with(kUnixScheme)) {
    RemoveStaleUnixSocket(options.listen.substr(kUnixScheme.size()), options.listen_option);
    return;
  }
  const auto parts = SplitHostPort(options.listen);
  if (!parts) {
    throw StartupError(
        StrCat(options.listen_option, " is \"", options.listen, "\", expected HOST:PORT, [IPV6]:PORT or unix:PATH"));
  }
  if (parts->port != 0) ListenTcp(parts->host, parts->port, options.listen_option);  // closed again at once
}

void SetLimits(grpc::ServerBuilder& builder, int max_threads) {
  grpc::ResourceQuota quota("hearth");
  quota.SetMaxThreads(max_threads);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingGapMs);
}

// Once per program and before the first builder: both are plugins of all servers.
void EnablePlugins() {
  static const bool enabled = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(enabled);
}

}  // namespace

RpcServer::RpcServer(const Options& options, const std::vector<grpc::Service*>& services) {
  CheckAddressIsFree(options);
  EnablePlugins();
  grpc::ServerBuilder builder;
  SetLimits(builder, options.max_threads);
  builder.AddListeningPort(options.listen, ServerCredentials(options.tls), &port_);
  for (grpc::Service* service : services) builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    throw StartupError(
        StrCat("cannot listen on ", options.listen, "; choose another address with ", options.listen_option));
  }
  SetServing(false);
}

RpcServer::~RpcServer() { Shutdown(Deadline::After(Deadline::Clock::duration::zero())); }

void RpcServer::SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

void RpcServer::Shutdown(Deadline deadline) {
  SetServing(false);
  constexpr Deadline::Clock::duration kLongest = std::chrono::hours(24);  // keeps the sum below in range
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                                           std::min(deadline.Left(), kLongest)));
  server_->Wait();
}

}  // namespace hearth
