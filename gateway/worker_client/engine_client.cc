#include "gateway/worker_client/engine_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/rpc/channel.h"
#include "common/rpc/status_map.h"
#include "gateway/worker_client/engine_convert.h"
#include "gateway/worker_client/generation_streams.h"

namespace hearth::engine {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::chrono::milliseconds kCauseTime{50};

// Cancels a call once `gone` says so, from a thread of its own: the blocking call cannot ask.
class CancelWatch {
 public:
  CancelWatch(grpc::ClientContext& context, const std::function<bool()>& gone)
      : thread_([this, &context, &gone] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, kLookEvery, [this] { return ended_; })) {
            if (!gone()) continue;
            context.TryCancel();
            return;
          }
        }) {}
  ~CancelWatch() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

struct EngineClient::Impl {
  std::string target;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::Engine::Stub> stub;
};

EngineClient::EngineClient(const std::string& target, const ClientTls& tls) : impl_(std::make_unique<Impl>()) {
  impl_->target = target;
  impl_->channel = MakeChannel(target, tls);
  impl_->stub = pb::Engine::NewStub(impl_->channel);
}

EngineClient::~EngineClient() = default;

bool EngineClient::connected() const { return impl_->channel->GetState(false) == GRPC_CHANNEL_READY; }

const std::string& EngineClient::target() const { return impl_->target; }

std::unique_ptr<GenerationStreams> EngineClient::Generate(const std::vector<GenerateSpec>& specs, Deadline deadline) {
  return StartStreams(*impl_->stub, specs, deadline);
}

Status EngineClient::Score(const ScoreSpec& spec, Deadline deadline, const std::function<bool()>& gone,
                           const std::function<void(ScoreRow)>& row) {
  grpc::ClientContext context;
  context.set_deadline(GrpcDeadline(deadline));
  const pb::ScoreRequest request = ToProto(spec);
  const auto reader = impl_->stub->Score(&context, request);
  const CancelWatch watch(context, gone);
  pb::ScoreResponse block;
  while (reader->Read(&block)) {
    for (const pb::ScoreRow& entry : block.rows()) row(FromProto(entry));
  }
  return FromGrpc(reader->Finish());
}

Result<ModelInfo> EngineClient::GetModelInfo(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::system_clock::now() + timeout;
  // This is the call that is made over and over while a worker starts. Between calls that fail at once nobody would
  // read the channel's socket, and a connection could take seconds to come up.
  const bool connected = impl_->channel->WaitForConnected(deadline);
  grpc::ClientContext context;
  context.set_deadline(connected ? deadline : std::chrono::system_clock::now() + kCauseTime);
  pb::ModelInfo info;
  const grpc::Status status = impl_->stub->GetModelInfo(&context, {}, &info);
  if (status.ok()) return FromProto(info);
  if (connected) return FromGrpc(status);
  // A call on a channel that could not connect fails at once, and says why.
  const bool says_why = status.error_code() == grpc::StatusCode::UNAVAILABLE;
  return Unavailable("no worker answers at ", impl_->target, says_why ? ": " + status.error_message() : "");
}

Result<EngineStats> EngineClient::GetStats(std::chrono::milliseconds timeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  pb::EngineStats stats;
  if (const grpc::Status status = impl_->stub->GetStats(&context, {}, &stats); !status.ok()) return FromGrpc(status);
  return FromProto(stats);
}

}  // namespace hearth::engine
