#include <algorithm>
#include <cmath>

#include "gpu_worker/service/parse_request.h"
#include "hearth/v1/engine.pb.h"

namespace hearth {
namespace {

// NaN fails every comparison, so "inside" is asked, never "outside".
Status CheckRange(const char* name, float value, bool inside, const char* expected) {
  if (inside) return Status::Ok();
  return InvalidArgument(name, " is ", value, ", expected ", expected).WithParam(name);
}

Status CheckNumbers(const SamplingParams& p) {
  const auto within = [](float v, float low, float high) { return v >= low && v <= high; };
  Status problems[] = {
      CheckRange("temperature", p.temperature, within(p.temperature, 0, 2), "0 to 2"),
      CheckRange("top_p", p.top_p, p.top_p > 0 && p.top_p <= 1, "above 0, at most 1"),
      CheckRange("min_p", p.min_p, within(p.min_p, 0, 1), "0 to 1"),
      CheckRange("repetition_penalty", p.repetition_penalty,
                 within(p.repetition_penalty, static_cast<float>(kLeastRepetitionPenalty), 2), "0.01 to 2"),
      CheckRange("presence_penalty", p.presence_penalty, within(p.presence_penalty, -2, 2), "-2 to 2"),
      CheckRange("frequency_penalty", p.frequency_penalty, within(p.frequency_penalty, -2, 2), "-2 to 2"),
  };
  for (Status& problem : problems) {
    if (!problem.ok()) return std::move(problem);
  }
  return Status::Ok();
}

}  // namespace

Result<SamplingParams> ParseSampling(const v1::SamplingParams& in, const RequestLimits& limits, uint64_t random_seed) {
  const GenerationConfig& defaults = limits.defaults;
  SamplingParams out;
  out.temperature = in.has_temperature() ? in.temperature() : defaults.temperature;
  out.top_p = in.has_top_p() ? in.top_p() : defaults.top_p;
  out.top_k = in.has_top_k() ? in.top_k() : defaults.top_k;
  out.min_p = in.has_min_p() ? in.min_p() : defaults.min_p;
  out.repetition_penalty = in.has_repetition_penalty() ? in.repetition_penalty() : defaults.repetition_penalty;
  out.presence_penalty = in.presence_penalty();
  out.frequency_penalty = in.frequency_penalty();
  out.seed = in.has_seed() ? in.seed() : random_seed;
  if (Status status = CheckNumbers(out); !status.ok()) return status;
  if (out.top_k < -1) {
    return InvalidArgument("top_k is ", out.top_k, ", expected 1 or more, or 0 or -1 for off").WithParam("top_k");
  }
  out.top_k = std::max(out.top_k, 0);

  int64_t banned = 0;
  for (const auto& [id, bias] : in.logit_bias()) {
    if (id < 0 || id >= limits.vocab_size) {
      return InvalidArgument("logit_bias has the id ", id, ", the vocabulary has ", limits.vocab_size)
          .WithParam("logit_bias");
    }
    if (!(bias >= -100 && bias <= 100)) {
      return InvalidArgument("logit_bias of id ", id, " is ", bias, ", expected -100 to 100").WithParam("logit_bias");
    }
    banned += bias <= kBanBias ? 1 : 0;
    if (bias != 0) out.logit_bias.emplace_back(id, bias);
  }
  if (banned >= limits.vocab_size) {
    return InvalidArgument("logit_bias bans every id of the vocabulary").WithParam("logit_bias");
  }
  std::sort(out.logit_bias.begin(), out.logit_bias.end());
  return out;
}

}  // namespace hearth
