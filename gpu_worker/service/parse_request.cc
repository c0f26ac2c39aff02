#include "gpu_worker/service/parse_request.h"

#include <algorithm>
#include <string>

#include "hearth/v1/engine.pb.h"

namespace hearth {
namespace {

using Ids = google::protobuf::RepeatedField<int32_t>;

Status CheckIds(const char* name, const Ids& ids, int32_t vocab_size) {
  for (int i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab_size) continue;
    return InvalidArgument(name, "[", i, "] is ", ids[i], ", expected an id from 0 to ", vocab_size - 1)
        .WithParam(name);
  }
  return Status::Ok();
}

Status CheckCount(const char* name, int64_t count, int64_t most) {
  if (count <= most) return Status::Ok();
  return InvalidArgument(name, " has ", count, " ids, at most ", most, " are allowed").WithParam(name);
}

Status CheckTop(const char* name, int64_t value, int64_t least) {
  if (value >= least && value <= kMaxTopIds) return Status::Ok();
  return InvalidArgument(name, " is ", value, ", expected ", least, " to ", kMaxTopIds).WithParam(name);
}

Status CheckRequestId(const std::string& id) {
  if (id.size() <= kMaxRequestIdBytes) return Status::Ok();
  return InvalidArgument("request_id has ", id.size(), " bytes, at most ", kMaxRequestIdBytes, " are allowed")
      .WithParam("request_id");
}

// The first that is not ok.
Status First(std::initializer_list<Status> all) {
  for (const Status& status : all) {
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

std::vector<int32_t> ToVector(const Ids& ids) { return {ids.begin(), ids.end()}; }

Result<ForcedAfter> ParseForced(const v1::ForcedAfter& in, int32_t vocab_size) {
  if (in.ids().empty()) {
    return InvalidArgument("forced_after.ids is empty, expected at least one id").WithParam("forced_after.ids");
  }
  if (Status status = First({CheckCount("forced_after.ids", in.ids_size(), kMaxForcedIds),
                             CheckIds("forced_after.ids", in.ids(), vocab_size)});
      !status.ok()) {
    return status;
  }
  ForcedAfter out{.n_tokens = in.n_tokens(), .ids = ToVector(in.ids()), .unless_seen = std::nullopt};
  if (in.unless_seen() < 0 || in.unless_seen() >= vocab_size) {
    return InvalidArgument("forced_after.unless_seen is ", in.unless_seen(), ", expected an id from 0 to ",
                           vocab_size - 1)
        .WithParam("forced_after.unless_seen");
  }
  if (in.unless_seen() != 0) out.unless_seen = in.unless_seen();
  return out;
}

Result<ConstraintSpec> ParseConstraint(const v1::GenerateRequest& request, const RequestLimits& limits) {
  const v1::Constraint& in = request.constraint();
  if (limits.constraints == nullptr) {
    return InvalidArgument("constraints are not offered: ", limits.no_constraints).WithParam("constraint");
  }
  if (in.automaton().size() > kMaxAutomatonBytes) {
    return InvalidArgument("constraint.automaton has ", in.automaton().size(), " bytes, at most ", kMaxAutomatonBytes,
                           " are allowed")
        .WithParam("constraint.automaton");
  }
  ConstraintProgram::Stops stops{
      .ids = request.stop_ids().empty() ? limits.defaults.eos_ids : ToVector(request.stop_ids()),
      .ending = !request.ignore_eos()};
  ConstraintSpec out;
  if (in.has_start_after()) {
    if (in.start_after() < 0 || in.start_after() >= limits.vocab_size) {
      return InvalidArgument("constraint.start_after is ", in.start_after(), ", expected an id from 0 to ",
                             limits.vocab_size - 1)
          .WithParam("constraint.start_after");
    }
    if (std::find(stops.ids.begin(), stops.ids.end(), in.start_after()) != stops.ids.end()) {
      return InvalidArgument("constraint.start_after is ", in.start_after(), ", which is a stop id")
          .WithParam("constraint.start_after");
    }
    out.start_after = in.start_after();
  }
  out.must_begin = in.must_begin();
  Result<std::shared_ptr<ConstraintProgram>> program = limits.constraints->Get(in.automaton(), std::move(stops));
  if (!program.ok()) {
    return InvalidArgument("constraint.automaton: ", program.status().message()).WithParam("constraint.automaton");
  }
  out.program = *std::move(program);
  return out;
}

}  // namespace

Result<RequestSpec> ParseGenerate(const v1::GenerateRequest& request, const RequestLimits& limits,
                                  uint64_t random_seed) {
  if (request.prompt_ids().empty()) {
    return InvalidArgument("prompt_ids is empty, expected at least one id").WithParam("prompt_ids");
  }
  const int64_t prompt = request.prompt_ids_size();
  if (prompt >= limits.context) {
    return FailedPrecondition("the prompt has ", prompt, " tokens, the context is ", limits.context,
                              " tokens for prompt and completion")
        .WithParam("prompt_ids");
  }
  if (Status status =
          First({CheckRequestId(request.request_id()), CheckIds("prompt_ids", request.prompt_ids(), limits.vocab_size),
                 CheckCount("stop_ids", request.stop_ids_size(), kMaxStopIds),
                 CheckIds("stop_ids", request.stop_ids(), limits.vocab_size),
                 CheckTop("top_logprobs", request.top_logprobs(), -1)});
      !status.ok()) {
    return status;
  }
  if (request.has_max_tokens() && request.max_tokens() == 0) {
    return InvalidArgument("max_tokens is 0, expected 1 or more").WithParam("max_tokens");
  }

  GenerateSpec spec;
  spec.max_tokens = limits.context - prompt;
  if (request.has_max_tokens()) spec.max_tokens = std::min<int64_t>(spec.max_tokens, request.max_tokens());
  Result<SamplingParams> sampling = ParseSampling(request.sampling(), limits, random_seed);
  if (!sampling.ok()) return sampling.status();
  spec.sampling = *std::move(sampling);
  if (!request.ignore_eos()) {
    spec.stop_ids = request.stop_ids().empty() ? limits.defaults.eos_ids : ToVector(request.stop_ids());
  }
  spec.top_logprobs = request.top_logprobs();
  if (request.has_forced_after()) {
    Result<ForcedAfter> forced = ParseForced(request.forced_after(), limits.vocab_size);
    if (!forced.ok()) return forced.status();
    spec.forced_after = *std::move(forced);
  }
  if (request.has_constraint()) {
    Result<ConstraintSpec> constraint = ParseConstraint(request, limits);
    if (!constraint.ok()) return constraint.status();
    spec.constraint = *std::move(constraint);
  }
  return RequestSpec{.id = request.request_id(),
                     .tokens = ToVector(request.prompt_ids()),
                     .logits_hash = request.logits_hash(),
                     .kind = std::move(spec)};
}

Result<RequestSpec> ParseScore(const v1::ScoreRequest& request, const RequestLimits& limits) {
  const int64_t count = request.ids_size();
  if (count == 0) return InvalidArgument("ids is empty, expected at least one id").WithParam("ids");
  if (count > limits.context) {
    return FailedPrecondition("the sequence has ", count, " tokens, the context is ", limits.context, " tokens")
        .WithParam("ids");
  }
  if (Status status =
          First({CheckRequestId(request.request_id()), CheckIds("ids", request.ids(), limits.vocab_size),
                 CheckCount("chosen", request.chosen_size(), kMaxChosenIds),
                 CheckIds("chosen", request.chosen(), limits.vocab_size), CheckTop("top_k", request.top_k(), 0)});
      !status.ok()) {
    return status;
  }
  if (request.first_row() >= count) {
    return InvalidArgument("first_row is ", request.first_row(), ", expected less than the ", count, " ids")
        .WithParam("first_row");
  }
  ScoreSpec spec{.first_row = request.first_row(),
                 .top_k = static_cast<int>(request.top_k()),
                 .chosen = ToVector(request.chosen()),
                 .decode_from = count};
  switch (request.path()) {
    case v1::ScoreRequest::PREFILL:
      if (request.decode_from() != 0) {
        return InvalidArgument("decode_from is ", request.decode_from(), ", with path PREFILL it must be 0")
            .WithParam("decode_from");
      }
      break;
    case v1::ScoreRequest::DECODE:
      if (request.decode_from() < 1 || request.decode_from() > count) {
        return InvalidArgument("decode_from is ", request.decode_from(), ", expected 1 to ", count, " with path DECODE")
            .WithParam("decode_from");
      }
      spec.decode_from = request.decode_from();
      break;
    default:
      return InvalidArgument("path is ", static_cast<int>(request.path()), ", expected PREFILL or DECODE")
          .WithParam("path");
  }
  return RequestSpec{.id = request.request_id(),
                     .tokens = ToVector(request.ids()),
                     .logits_hash = request.logits_hash(),
                     .kind = std::move(spec)};
}

}  // namespace hearth
