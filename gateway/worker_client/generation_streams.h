#pragma once

#include <memory>
#include <vector>

#include "gateway/worker_client/engine_client.h"
#include "hearth/v1/engine.grpc.pb.h"

namespace hearth::engine {

// Starts the calls and gives their events through one bounded queue: a reader that falls behind stops the reading of
// its streams, and so the worker.
std::unique_ptr<GenerationStreams> StartStreams(::hearth::v1::Engine::Stub& stub,
                                                const std::vector<GenerateSpec>& specs, Deadline deadline);

// Deadline of a gRPC call.
std::chrono::system_clock::time_point GrpcDeadline(Deadline deadline);

}  // namespace hearth::engine
