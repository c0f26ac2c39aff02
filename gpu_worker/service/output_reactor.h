#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "common/rpc/status_map.h"
#include "gpu_worker/scheduler/step_loop.h"

namespace hearth {

// Carries one request's outputs to a gRPC stream. Nobody waits: the step thread's news and finished writes both lead to
// Pump(), which writes what is there if no write is under way. Owns itself; OnDone deletes it, which cancels what is
// left of the request.
template <typename Response>
class OutputReactor : public grpc::ServerWriteReactor<Response> {
 public:
  void Begin(StepLoop& loop, RequestSpec spec) {
    Result<Generation> generation = loop.Submit(std::move(spec), [link = link_] {
      std::lock_guard lock(link->mutex);
      if (link->reactor != nullptr) link->reactor->Pump();
    });
    std::lock_guard lock(link_->mutex);
    if (!generation.ok()) return FinishOnce(ToGrpc(generation.status()));
    generation_.emplace(*std::move(generation));
    if (WriteFirst(*generation_, response_)) {
      writing_ = true;
      this->StartWrite(&response_);
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
    bool begun = false;
    {
      std::lock_guard lock(link_->mutex);
      cancelled_ = true;
      begun = generation_.has_value();
      if (!writing_) FinishOnce(grpc::Status(grpc::StatusCode::CANCELLED, "the client has left"));
    }
    // Not under the lock: cancelling a queued request puts its outcome, which leads back to Pump().
    if (begun) generation_->Cancel();
  }
  void OnDone() override {
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

  // With the lock.
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
      writing_ = true;
      this->StartWrite(&response_);
    } else if (outcome_ && outcome_->status.ok() && WriteLast(*generation_, *outcome_, response_)) {
      finished_ = true;
      this->StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
    } else if (outcome_) {
      FinishOnce(ToGrpc(outcome_->status));
    }
  }
  void FinishOnce(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return;
    this->Finish(status);
  }

  const std::shared_ptr<Link> link_;
  std::optional<Generation> generation_;  // set in Begin, before any reaction
  std::optional<Outcome> outcome_;
  Response response_;
  bool writing_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
};

}  // namespace hearth
