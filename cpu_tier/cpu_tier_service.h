#pragma once

#include "cpu_tier/daemon.h"
#include "hearth/v1/cpu_tier.grpc.pb.h"

namespace hearth {

// The CpuTier service over a Daemon. Calls are short; each holds one thread.
class CpuTierService final : public v1::CpuTier::Service {
 public:
  explicit CpuTierService(Daemon& daemon) : daemon_(daemon) {}

  grpc::Status Attach(grpc::ServerContext* rpc, const v1::AttachRequest* request,
                      v1::AttachResponse* response) override;
  grpc::Status Detach(grpc::ServerContext* rpc, const v1::DetachRequest* request,
                      v1::DetachResponse* response) override;
  grpc::Status SelfTest(grpc::ServerContext* rpc, const v1::SelfTestRequest* request,
                        v1::SelfTestResponse* response) override;
  grpc::Status GetStats(grpc::ServerContext* rpc, const v1::GetCpuTierStatsRequest* request,
                        v1::CpuTierStats* response) override;

 private:
  Daemon& daemon_;
};

}  // namespace hearth
