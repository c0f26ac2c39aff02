#include "common/rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "common/rpc/rpc_limits.h"

namespace hearth {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target, const ClientTls& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Peers are on this machine or in this deployment; a proxy from the environment is never meant for them.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // One name may stand for several workers; without this every call would go to the first address.
  if (target.starts_with("dns:///")) arguments.SetLoadBalancingPolicyName("round_robin");
  if (!tls.name.empty()) arguments.SetSslTargetNameOverride(tls.name);
  return grpc::CreateCustomChannel(target, ChannelCredentials(tls), arguments);
}

}  // namespace hearth
