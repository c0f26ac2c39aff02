#pragma once

#include <memory>

#include "gpu_worker/service/engine_state.h"
#include "gpu_worker/service/open_streams.h"
#include "hearth/v1/engine.grpc.pb.h"

namespace hearth {

// The Engine service over gRPC's callback interface: no thread waits for a request.
class EngineService final : public v1::Engine::CallbackService {
 public:
  // The state outlives the service and the server it is registered with.
  explicit EngineService(EngineState& state) : state_(state) {}

  // Those of Generate and Score.
  OpenStreams& streams() { return streams_; }

  grpc::ServerWriteReactor<v1::GenerateResponse>* Generate(grpc::CallbackServerContext* context,
                                                           const v1::GenerateRequest* request) override;
  grpc::ServerWriteReactor<v1::ScoreResponse>* Score(grpc::CallbackServerContext* context,
                                                     const v1::ScoreRequest* request) override;
  grpc::ServerUnaryReactor* GetModelInfo(grpc::CallbackServerContext* context, const v1::GetModelInfoRequest* request,
                                         v1::ModelInfo* response) override;
  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext* context, const v1::GetStatsRequest* request,
                                     v1::EngineStats* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;
  grpc::ServerUnaryReactor* Verify(grpc::CallbackServerContext* context, const v1::VerifyRequest* request,
                                   v1::VerifyResponse* response) override;

 private:
  EngineState& state_;
  OpenStreams streams_;
};

// The numbers of GetStats.
v1::EngineStats CollectStats(const EngineState& state);
v1::ModelInfo CollectInfo(const EngineState& state);

}  // namespace hearth
