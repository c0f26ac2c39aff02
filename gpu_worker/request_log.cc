#include "gpu_worker/request_log.h"

#include "common/log/log.h"

namespace hearth {

void LogRequest(const RequestSpec& spec, const Outcome& outcome) {
  const char* kind = spec.generate() != nullptr ? "generate" : "score";
  const RequestUsage& usage = outcome.usage;
  const int64_t tokens = static_cast<int64_t>(spec.tokens.size());
  if (!outcome.status.ok()) {
    const bool ours = outcome.status.code() == StatusCode::kInternal;
    Log(ours ? LogLevel::kError : LogLevel::kInfo, kind,
        {{"request", spec.id},
         {"code", StatusCodeName(outcome.status.code())},
         {"error", outcome.status.message()},
         {"tokens", tokens},
         {"completion", usage.completion_tokens}});
    return;
  }
  const char* end = spec.generate() == nullptr ? "scored" : outcome.reason == FinishReason::kStop ? "stop" : "length";
  Log(LogLevel::kInfo, kind,
      {{"request", spec.id},
       {"end", end},
       {"tokens", tokens},
       {"completion", usage.completion_tokens},
       {"queue_s", usage.queue_seconds},
       {"prefill_s", usage.prefill_seconds},
       {"decode_s", usage.decode_seconds}});
}

void LogNotRead(const RequestSpec& spec) {
  Log(LogLevel::kInfo, "not_read", {{"request", spec.id}, {"error", "the client has stopped reading"}});
}

}  // namespace hearth
