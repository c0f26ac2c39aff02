#include "gateway/worker_client/generation_streams.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "common/rpc/status_map.h"
#include "gateway/worker_client/engine_convert.h"

namespace hearth::engine {
namespace {

// Events of one stream that may wait to be taken.
constexpr size_t kWaitingEvents = 64;

// Shared by the calls that were started together.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Event> events;
  size_t open = 0;  // calls whose OnDone has not run
};

class Call : public grpc::ClientReadReactor<pb::GenerateResponse> {
 public:
  Call(Mailbox& mailbox, size_t index, Deadline deadline) : mailbox_(mailbox), index_(index) {
    context_.set_deadline(GrpcDeadline(deadline));
  }

  void Start(pb::Engine::Stub& stub, const GenerateSpec& spec) {
    request_ = ToProto(spec);
    stub.async()->Generate(&context_, &request_, this);
    AddHold();  // reads start outside of reactions when the mailbox has been full
    StartRead(&message_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    std::unique_lock lock(mailbox_.mutex);
    if (!ok) {
      lock.unlock();
      RemoveHold();
      return;
    }
    Post(FromProto(std::move(message_)));
    if (++waiting_ >= kWaitingEvents) {
      paused_ = true;
      return;
    }
    lock.unlock();
    StartRead(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    std::lock_guard lock(mailbox_.mutex);
    if (!finished_) {
      Status outcome = FromGrpc(status);
      if (outcome.ok()) outcome = Unavailable("the worker ended the stream before the generation was finished");
      Post(Failed{std::move(outcome)});
    }
    --mailbox_.open;
    mailbox_.changed.notify_all();
  }

  // The reader took an event; the lock is held.
  bool TakenWithLock() {
    --waiting_;
    const bool resume = paused_ && waiting_ < kWaitingEvents / 2;
    if (resume) paused_ = false;
    return resume;
  }
  void Resume() { StartRead(&message_); }

  void Cancel() {
    context_.TryCancel();
    bool resume = false;
    {
      std::lock_guard lock(mailbox_.mutex);
      resume = std::exchange(paused_, false);
    }
    if (resume) Resume();  // so that the end is read
  }

 private:
  void Post(decltype(Event::what) what) {
    finished_ = finished_ || std::holds_alternative<Finished>(what) || std::holds_alternative<Failed>(what);
    mailbox_.events.push_back({index_, std::move(what), std::chrono::steady_clock::now()});
    mailbox_.changed.notify_all();
  }

  Mailbox& mailbox_;
  const size_t index_;
  grpc::ClientContext context_;
  pb::GenerateRequest request_;
  pb::GenerateResponse message_;
  // Guarded by the mailbox's mutex.
  size_t waiting_ = 0;
  bool paused_ = false;
  bool finished_ = false;
};

class Streams : public GenerationStreams {
 public:
  Streams(pb::Engine::Stub& stub, const std::vector<GenerateSpec>& specs, Deadline deadline) {
    mailbox_.open = specs.size();
    for (size_t i = 0; i < specs.size(); ++i) calls_.push_back(std::make_unique<Call>(mailbox_, i, deadline));
    for (size_t i = 0; i < specs.size(); ++i) calls_[i]->Start(stub, specs[i]);
  }

  ~Streams() override {
    for (const auto& call : calls_) call->Cancel();
    std::unique_lock lock(mailbox_.mutex);
    mailbox_.changed.wait(lock, [this] { return mailbox_.open == 0; });
  }

  std::optional<Event> Next(std::chrono::milliseconds wait) override {
    std::unique_lock lock(mailbox_.mutex);
    if (!mailbox_.changed.wait_for(lock, wait, [this] { return !mailbox_.events.empty(); })) return std::nullopt;
    Event event = std::move(mailbox_.events.front());
    mailbox_.events.pop_front();
    Call& call = *calls_[event.stream];
    const bool resume = call.TakenWithLock();
    lock.unlock();
    if (resume) call.Resume();
    return event;
  }

  void Cancel(size_t stream) override { calls_[stream]->Cancel(); }

 private:
  Mailbox mailbox_;
  std::vector<std::unique_ptr<Call>> calls_;
};

}  // namespace

std::chrono::system_clock::time_point GrpcDeadline(Deadline deadline) {
  constexpr Deadline::Clock::duration kLongest = std::chrono::hours(24);
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(std::min(kLongest, deadline.Left()));
}

std::unique_ptr<GenerationStreams> StartStreams(pb::Engine::Stub& stub, const std::vector<GenerateSpec>& specs,
                                                Deadline deadline) {
  return std::make_unique<Streams>(stub, specs, deadline);
}

}  // namespace hearth::engine
