#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/experts/cache_tables.h"

namespace hearth {

// Drives the engine's cache policy over picks, in the order in which the executor does, without any bytes. Steps of
// one stream or of several that share the union of their experts; prefill chunks between them.
class PolicyReplay {
 public:
  struct Setup {
    int layers = 42, experts = 288, picks = 8, slots = 1312;
    cache::Admission admission = cache::Admission::kByFrequency;
    double half_life = 0;  // 0: follows the traffic
  };
  explicit PolicyReplay(const Setup& setup);

  // One decode step: a token of each stream, [layers, picks] as RoutingTrace::NextToken gives it.
  void Decode(const std::vector<std::vector<int32_t>>& tokens);
  void Decode(const std::vector<int32_t>& token) { Decode(std::vector<std::vector<int32_t>>{token}); }

  // One prefill chunk of so many rows. counts: [layers, experts] picks of all its rows. `lent` slots are taken out of
  // the cache for its duration, as PrefillLane does for its staging buffers.
  void Prefill(const std::vector<int32_t>& counts, int32_t rows, int32_t lent);

  // Counts since the last call, or since the start.
  struct Figures {
    double hit_rate = 0;    // of the experts touched by decode steps
    double admissions = 0;  // per token
    double misses = 0;      // per token
  };
  Figures TakeFigures();

  double half_life() { return tables_.view().state->clock.half_life; }

 private:
  Setup setup_;
  CacheTables tables_;
  cache::Counters before_;
  int64_t tokens_ = 0;
  std::vector<int32_t> pinned_, missed_, count_;
};

// Share of the picks that the best fixed set of `slots` experts, chosen in hindsight, would hit.
double BestFixedSet(const std::vector<std::vector<int32_t>>& tokens, const PolicyReplay::Setup& setup);

}  // namespace hearth
