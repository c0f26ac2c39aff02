#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/status.h"

namespace hearth::engine {

// The worker's service in plain types, so that nothing outside this folder knows its wire format. Meanings, ranges and
// units are those of proto/hearth/v1/engine.proto.

struct SamplingParams {
  std::optional<float> temperature, top_p, min_p;
  std::optional<int32_t> top_k;
  std::optional<float> repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<uint64_t> seed;
  std::map<int32_t, float> logit_bias;
};

// Keeps the generated text within a language.
struct Constraint {
  std::shared_ptr<const std::string> automaton;  // in wire form
  std::optional<int32_t> start_after;            // begins after this id was generated
  bool must_begin = false;                       // the generation cannot end before
};

// These ids come after so many generated ones, unless another one has been seen.
struct ForcedAfter {
  uint32_t n_tokens = 0;
  std::vector<int32_t> ids;
  std::optional<int32_t> unless_seen;
};

struct GenerateSpec {
  std::string request_id;
  std::string session;  // requests with the same one go to the same worker; empty: by the prompt. Not sent
  std::vector<int32_t> prompt_ids;
  std::optional<uint32_t> max_tokens;  // absent: what the context leaves
  SamplingParams sampling;
  std::vector<int32_t> stop_ids;  // empty: the model's
  bool ignore_eos = false;
  std::optional<Constraint> constraint;
  std::optional<ForcedAfter> forced_after;
  int32_t top_logprobs = -1;  // -1: none, 0: of the sampled token only
  bool logits_hash = false;
};

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;
};

struct Token {
  int32_t id = 0;
  std::optional<float> logprob;
  std::vector<TokenLogprob> top;
  std::optional<uint64_t> logits_hash;
};

struct LaneCounts {
  uint64_t vram = 0, pcie = 0, cpu = 0, staged = 0, late = 0;
};

struct Usage {
  uint32_t prompt_tokens = 0;
  uint32_t completion_tokens = 0;
  double queue_seconds = 0, prefill_seconds = 0, decode_seconds = 0;
  LaneCounts picks;
  SamplingParams effective_sampling;
  bool deterministic = false;
};

struct Accepted {
  uint32_t queue_position = 0;
  uint64_t seed = 0;
};
struct Tokens {
  std::vector<Token> tokens;
};
struct Finished {
  bool by_length = false;  // else a stop id came
  std::optional<int32_t> stop_id;
  Usage usage;
};
// The last event of a stream that did not finish.
struct Failed {
  Status status;
};

// An event of one of the streams that were started together.
struct Event {
  size_t stream = 0;
  std::variant<Accepted, Tokens, Finished, Failed> what;
  std::chrono::steady_clock::time_point arrived = {};  // when gRPC handed it over
};

struct ScoreSpec {
  std::string request_id;
  std::vector<int32_t> ids;
  uint32_t first_row = 0;
  uint32_t top_k = 0;
  std::vector<int32_t> chosen;
  bool decode = false;  // rows from decode_from on one at a time
  uint32_t decode_from = 0;
  bool logits_hash = false;
};

// The distribution after ids[0..row].
struct ScoreRow {
  uint32_t row = 0;
  std::vector<TokenLogprob> top;
  std::vector<TokenLogprob> chosen;
  std::optional<float> next_logprob;
  std::optional<uint64_t> logits_hash;
};

enum class WorkerState { kUnknown, kLoading, kReady, kDraining };

struct LoadProgress {
  double ratio = 0;
  uint64_t bytes_done = 0, bytes_total = 0;
  double seconds = 0;
  bool adopted = false;
};

struct ModelInfo {
  WorkerState state = WorkerState::kUnknown;
  LoadProgress load;
  std::string model_dir, fingerprint;
  uint32_t vocab_size = 0;
  uint32_t max_model_len = 0;
  std::vector<int32_t> eos_ids;
  float default_temperature = 1, default_top_p = 1;
  std::string mode, backend, kv_type, version;
  uint32_t max_running = 0, max_queue = 0, kv_pool_tokens = 0, chunk_size = 0;
  std::map<std::string, std::string> flags;
  bool degraded = false;
  std::string degraded_reason;
};

struct EngineStats {
  uint32_t requests_running = 0, requests_waiting = 0;
  uint64_t requests_total = 0, prompt_tokens_total = 0, completion_tokens_total = 0;
  struct {
    uint64_t slots = 0, used = 0, lent = 0, hits = 0, misses = 0, admissions = 0, evictions = 0;
  } cache;
  struct {
    bool up = false;
    uint64_t jobs = 0, experts = 0, timeouts = 0;
    double wait_ms_per_job = 0;
    std::string isa, selftest;
    uint32_t threads = 0;
  } cpu_tier;
  LaneCounts lane_picks, lane_bytes;
  LoadProgress load;
  WorkerState state = WorkerState::kUnknown;
  uint64_t decode_steps = 0, kv_tokens_used = 0, kv_tokens_total = 0, sequences_paused = 0;
};

}  // namespace hearth::engine
