#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "gpu_worker/scheduler/log_probs.h"

namespace hearth {

// What the step loop tells the one who asked.

struct TokenOutput {
  int32_t id = 0;
  std::optional<float> logprob;
  std::vector<TokenLogprob> top;
  std::optional<uint64_t> logits_hash;
};

struct ScoreRowOutput {
  int64_t row = 0;
  std::vector<TokenLogprob> top;
  std::vector<TokenLogprob> chosen;
  std::optional<float> next_logprob;
  std::optional<uint64_t> logits_hash;
};
using ScoreRows = std::vector<ScoreRowOutput>;

// Picks by where their expert was read or computed.
struct LanePicks {
  uint64_t vram = 0, pcie = 0, cpu = 0, staged = 0, late = 0;

  LanePicks& operator+=(const LanePicks& o) {
    vram += o.vram, pcie += o.pcie, cpu += o.cpu, staged += o.staged, late += o.late;
    return *this;
  }
  friend LanePicks operator-(const LanePicks& a, const LanePicks& b) {
    return {a.vram - b.vram, a.pcie - b.pcie, a.cpu - b.cpu, a.staged - b.staged, a.late - b.late};
  }
};

struct RequestUsage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;  // a stop id at the end counts
  double queue_seconds = 0;       // submitted to admitted
  double prefill_seconds = 0;     // admitted to first token
  double decode_seconds = 0;      // first token to end
  // Of a step that several sequences shared, each has its equal part.
  LanePicks picks;
};

enum class FinishReason { kStop, kLength };

// The last output of every request.
struct Outcome {
  Status status;
  FinishReason reason = FinishReason::kLength;  // meaningful when ok, for a generation
  std::optional<int32_t> stop_id;
  RequestUsage usage;
};

using Output = std::variant<TokenOutput, ScoreRows, Outcome>;

}  // namespace hearth
