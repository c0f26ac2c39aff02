#include "gpu_worker/service/request_streams.h"

#include "gpu_worker/service/to_proto.h"

namespace hearth {
namespace {

// A client with gRPC's default limits takes 4 MiB. The step loop's blocks add at most 256 rows to what is there.
constexpr int kEnoughTokens = 256;
constexpr int kEnoughRows = 512;
constexpr size_t kEnoughBytes = size_t{1} << 20;

}  // namespace

bool GenerateReactor::WriteFirst(const Generation& generation, v1::GenerateResponse& response) {
  v1::Accepted* accepted = response.mutable_accepted();
  accepted->set_queue_position(generation.queue_position());
  accepted->set_seed(generation.spec().generate()->sampling.seed);
  return true;
}

bool GenerateReactor::Add(Output output, v1::GenerateResponse& response) {
  v1::TokenChunk* chunk = response.mutable_tokens();
  ToProto(std::get<TokenOutput>(output), chunk->add_tokens());
  return chunk->tokens_size() < kEnoughTokens;
}

bool GenerateReactor::WriteLast(const Generation& generation, const Outcome& outcome, v1::GenerateResponse& response) {
  const bool deterministic = deterministic_ ? deterministic_() : true;
  ToProto(outcome, *generation.spec().generate(), deterministic, response.mutable_finished());
  return true;
}

bool ScoreReactor::Add(Output output, v1::ScoreResponse& response) {
  for (const ScoreRowOutput& row : std::get<ScoreRows>(output)) ToProto(row, response.add_rows());
  return response.rows_size() < kEnoughRows && response.ByteSizeLong() < kEnoughBytes;
}

}  // namespace hearth
