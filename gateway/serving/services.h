#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "gateway/http/http_message.h"
#include "gateway/metrics.h"
#include "gateway/serving/model_text.h"
#include "gateway/worker_client/worker_pool.h"

namespace hearth::serving {

// What every handler works with. All parts outlive the handlers.
struct Services {
  engine::WorkerPool& workers;
  ModelTextHolder& text;
  GatewayMetrics& metrics;
  std::vector<std::string> served_names;  // the first one is shown by /v1/models
  bool strict = false;
  std::chrono::milliseconds request_timeout{3'600'000};
  std::chrono::milliseconds keep_alive{5'000};  // longest silence of a stream
  const std::atomic<bool>* draining = nullptr;  // this gateway takes no new requests; null: never
};

// The model that at least one worker serves, with its text side.
struct ReadyModel {
  std::shared_ptr<const engine::WorkerView> worker;  // of all workers together
  std::shared_ptr<const ModelText> text;
  const engine::ModelInfo& info() const { return worker->info; }
};

// The session by which a request finds its worker: the x-session-id header, else `named` (from the body), else the
// prompt's first tokens.
std::string SessionOf(const http::HttpRequest& request, const std::string& named, const std::vector<int32_t>& prompt);

// kUnavailable with the state ("loading, 40 %", "draining", "down: ..") when nothing can be generated now.
Result<ReadyModel> RequireReady(const Services& services);

// "ready", "loading", "draining", "worker_down" or "no_tokenizer".
std::string StateWord(const Services& services);

// The names of --served-name; the bundled model also answers to its own two.
std::vector<std::string> ServedNames(const Services& services);

// kDeadlineExceeded that names the limit.
Status TookTooLong(const Services& services);

// kNotFound for a name that is not served. The empty name, of a request without one, is the first served one.
Status CheckModelName(const Services& services, const std::string& name);

// kFailedPrecondition when a text of so many bytes cannot fit the context however it is cut into tokens: what is far
// too long is refused before the work of tokenizing it. `after`: tokens that follow at least, 0 when none is generated.
Status CheckTextLength(const ReadyModel& model, size_t bytes, const std::string& param, uint32_t after = 1);
// kFailedPrecondition with both numbers when the prompt leaves no room for what follows; kInvalidArgument for ids
// outside the vocabulary and for an empty prompt.
Status CheckPromptIds(const ReadyModel& model, const std::vector<int32_t>& ids, const std::string& param,
                      uint32_t after = 1);

// The token limit to send: what was asked for, at most what the context leaves after the prompt.
uint32_t RoomFor(const ReadyModel& model, size_t prompt_tokens, std::optional<uint32_t> asked);

// kInvalidArgument for a logit_bias on a token outside the vocabulary.
Status CheckBiases(const ReadyModel& model, const engine::SamplingParams& sampling);

// Lists the names in x-hearth-ignored, at most 20.
void AddIgnored(const std::vector<std::string>& unknown, http::HttpResponse& response);

// The answer to a failed request, noted for the access log.
http::HttpResponse Failure(const Services& services, const http::HttpRequest& request, const Status& status);

// `prefix` and 24 random hex digits.
std::string NewId(const char* prefix);

}  // namespace hearth::serving
