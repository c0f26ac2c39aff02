#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "common/rpc/status_map.h"
#include "gpu_worker/scheduler/step_loop.h"
#include "gpu_worker/service/open_streams.h"

namespace hearth {

// Carries one request's outputs to a gRPC stream. Nobody waits: the step thread's news and finished writes both lead to
// Pump(), which writes what is there if no write is under way. A write that the client leaves pending for the write
// timeout ends the call, whatever has become of the request. Owns itself; OnDone deletes it, which cancels what is left
// of the request and drops its outputs.
template <typename Response>
class OutputReactor : public grpc::ServerWriteReactor<Response>, private OpenStreams::Stream {
 public:
  struct Call {
    grpc::CallbackServerContext& context;
    OpenStreams& streams;  // outlives the stream
    std::chrono::nanoseconds write_timeout;
  };

  void Begin(const Call& call, StepLoop& loop, RequestSpec spec) {
    call_.emplace(call);
    call.streams.Add(*this);
    Result<Generation> generation = loop.Submit(std::move(spec), [link = link_] {
      std::lock_guard lock(link->mutex);
      if (link->reactor != nullptr) link->reactor->Pump();
    });
    std::lock_guard lock(link_->mutex);
    if (!generation.ok()) return FinishOnce(ToGrpc(generation.status()));
    generation_.emplace(*std::move(generation));
    if (WriteFirst(*generation_, response_)) {
      Write();
    } else {
      Pump();
    }
  }
  void Refuse(const grpc::Status& status) {
    std::lock_guard lock(link_->mutex);
    FinishOnce(status);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(link_->mutex);
    writing_ = false;
    if (ok && !cancelled_) return Pump();
    FinishOnce(grpc::Status(grpc::StatusCode::CANCELLED, "the client has left"));
  }
  void OnCancel() override {
    bool begun = false, timed_out = false;
    {
      std::lock_guard lock(link_->mutex);
      cancelled_ = true;
      begun = generation_.has_value();
      timed_out = timed_out_;
      if (!writing_) FinishOnce(grpc::Status(grpc::StatusCode::CANCELLED, "the client has left"));
    }
    // Not under the lock: cancelling a queued request puts its outcome, which leads back to Pump().
    if (begun && timed_out) generation_->NotRead();
    if (begun) generation_->Cancel();
  }
  void OnDone() override {
    // Not under the lock, which Look() takes while the list is locked.
    if (call_) call_->streams.Remove(*this);
    {
      std::lock_guard lock(link_->mutex);
      link_->reactor = nullptr;
    }
    delete this;
  }

 protected:
  OutputReactor() : link_(std::make_shared<Link>()) { link_->reactor = this; }

  // Fills the message that comes before all outputs, if there is one.
  virtual bool WriteFirst(const Generation& generation, Response& response) = 0;
  // Adds an output to the message; false when the message is big enough now.
  virtual bool Add(Output output, Response& response) = 0;
  // Fills the message that follows the outputs of a successful request, if there is one.
  virtual bool WriteLast(const Generation& generation, const Outcome& outcome, Response& response) = 0;

 private:
  // Outlives the reactor: the step thread may call just when the stream ends.
  struct Link {
    std::mutex mutex;
    OutputReactor* reactor = nullptr;
  };

  void Look(Deadline::Clock::time_point now) override {
    std::lock_guard lock(link_->mutex);
    if (!(writing_ || finished_) || timed_out_ || now - pending_since_ < call_->write_timeout) return;
    timed_out_ = true;
    // Fails what is pending; the reactions to that run on gRPC's threads.
    call_->context.TryCancel();
  }

  // With the lock.
  void Write() {
    writing_ = true;
    pending_since_ = Deadline::Clock::now();
    this->StartWrite(&response_);
  }
  void Pump() {
    if (writing_ || finished_ || !generation_) return;
    response_.Clear();
    bool filled = false;
    while (!outcome_) {
      std::optional<Output> output = generation_->Next();
      if (!output) break;
      if (Outcome* outcome = std::get_if<Outcome>(&*output)) {
        outcome_ = std::move(*outcome);
      } else {
        filled = true;
        if (!Add(*std::move(output), response_)) break;
      }
    }
    if (filled) {
      Write();
    } else if (outcome_ && outcome_->status.ok() && WriteLast(*generation_, *outcome_, response_)) {
      finished_ = true;
      pending_since_ = Deadline::Clock::now();
      this->StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
    } else if (outcome_) {
      FinishOnce(ToGrpc(outcome_->status));
    }
  }
  void FinishOnce(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    pending_since_ = Deadline::Clock::now();
    this->Finish(status);
  }

  const std::shared_ptr<Link> link_;
  std::optional<Call> call_;              // set in Begin, absent when refused
  std::optional<Generation> generation_;  // set in Begin, before any reaction
  std::optional<Outcome> outcome_;
  Response response_;
  Deadline::Clock::time_point pending_since_;  // of the write, or of the end, that is under way
  bool writing_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
  bool timed_out_ = false;
};

}  // namespace hearth
