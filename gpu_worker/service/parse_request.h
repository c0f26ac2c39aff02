#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "gpu_worker/constraint/constraint_cache.h"
#include "gpu_worker/model/model_config.h"
#include "gpu_worker/scheduler/request.h"

namespace hearth::v1 {
class GenerateRequest;
class SamplingParams;
class ScoreRequest;
}  // namespace hearth::v1

namespace hearth {

// What requests are checked against.
struct RequestLimits {
  int32_t vocab_size = 0;
  int64_t context = 0;        // most prompt and completion tokens together
  GenerationConfig defaults;  // for absent sampling fields and stop ids
  // Null: constraints are refused, and `no_constraints` says why.
  std::shared_ptr<ConstraintCache> constraints = nullptr;
  std::string no_constraints = {};
};

constexpr int kMaxTopIds = 1024;       // log-probabilities per row
constexpr int kMaxChosenIds = 16'384;  // of a score request; enough for the union of many rows' candidates
constexpr int kMaxStopIds = 1024;
constexpr int kMaxForcedIds = 4096;
constexpr int kMaxRequestIdBytes = 256;
constexpr size_t kMaxAutomatonBytes = size_t{4} << 20;

// Proto to checked specification. INVALID_ARGUMENT names the field; FAILED_PRECONDITION: too long for the context.
// The deadline is left open. `random_seed` is used when the request has none.
Result<RequestSpec> ParseGenerate(const v1::GenerateRequest& request, const RequestLimits& limits,
                                  uint64_t random_seed);
Result<RequestSpec> ParseScore(const v1::ScoreRequest& request, const RequestLimits& limits);
Result<SamplingParams> ParseSampling(const v1::SamplingParams& params, const RequestLimits& limits,
                                     uint64_t random_seed);

}  // namespace hearth
