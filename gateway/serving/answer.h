#pragma once

#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "gateway/http/error_response.h"
#include "gateway/http/sse_writer.h"
#include "gateway/openai/chat_response.h"
#include "gateway/serving/generation_run.h"
#include "gateway/serving/receipts.h"

namespace hearth::serving {

// A generation request's way from its specs to the response, the same for every API dialect: the dialect gives an
// Answer that turns tokens into pieces of a stream or into one body.
class Answer : public RunObserver {
 public:
  // Events go to `sse` from now on, and a comment whenever nothing has for the time of `keep_alive`. Without a stream
  // everything is collected.
  void SetStream(http::SseWriter* sse, std::chrono::milliseconds keep_alive) {
    sse_ = sse;
    keep_alive_ = keep_alive;
  }

  // Written first, before any token.
  virtual void Begin() {}
  // After every choice has ended: the last events of a stream.
  virtual void EndStream(const GenerationRun& run) = 0;
  // The body of a response that is not streamed.
  virtual OrderedJson Whole(const GenerationRun& run) = 0;
  // For the access log: "stop", "length", "tool_calls".
  virtual std::string finish_reason() const = 0;

  void KeepAlive() override {
    if (sse_ != nullptr && sse_->quiet_for() >= keep_alive_) sse_->Comment("waiting");
  }
  bool CanWrite() override { return sse_ == nullptr || sse_->alive(); }
  bool write_timed_out() override { return sse_ != nullptr && sse_->timed_out(); }

 protected:
  bool streaming() const { return sse_ != nullptr; }
  void Send(const OrderedJson& event) { sse_->Event(WireText(event)); }

 private:
  http::SseWriter* sse_ = nullptr;
  std::chrono::milliseconds keep_alive_{5000};
};

// Starts the generations and answers: with an error while nothing has been sent, with an error event afterwards.
// `deadline` is the whole request's, `prompt_tokens` is for the access log.
http::HttpResponse RunAnswer(const Services& services, const http::HttpRequest& request,
                             std::vector<engine::GenerateSpec> specs, Deadline deadline, bool stream,
                             size_t prompt_tokens, std::shared_ptr<Answer> answer);

// Counts a finished choice under its reason.
void CountFinish(GatewayMetrics& metrics, const std::string& reason);

openai::ResponseHead NewHead(const Services& services, const ReadyModel& model, const char* id_prefix,
                             const std::string& model_name);

}  // namespace hearth::serving
