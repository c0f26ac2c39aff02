#include "gateway/serving/receipts.h"

#include <algorithm>

namespace hearth::serving {
namespace {

// Sums over the choices. Of those that a stop string ended the worker's figures are not known.
OrderedJson WorkerReceipts(const std::vector<ChoiceEnd>& ends) {
  double queue = 0, prefill = 0, decode = 0;
  engine::LaneCounts picks;
  bool deterministic = true, all_told = true;
  const engine::Usage* first = nullptr;
  size_t tokens = 0;
  for (const ChoiceEnd& end : ends) {
    if (!end.usage && !end.seen) continue;
    const engine::Usage& usage = end.usage ? *end.usage : *end.seen;
    all_told = all_told && end.usage.has_value();
    if (first == nullptr) first = &usage;
    queue = std::max(queue, usage.queue_seconds);
    prefill += usage.prefill_seconds;
    decode = std::max(decode, usage.decode_seconds);
    tokens += usage.completion_tokens;
    picks.vram += usage.picks.vram;
    picks.pcie += usage.picks.pcie;
    picks.cpu += usage.picks.cpu;
    picks.staged += usage.picks.staged;
    picks.late += usage.picks.late;
    deterministic = deterministic && usage.deterministic;
  }
  if (first == nullptr) return {};
  OrderedJson json;
  if (all_told) json["queue_seconds"] = queue;
  json["prefill_seconds"] = prefill;
  json["decode_seconds"] = decode;
  json["tokens_per_second"] = decode > 0 ? OrderedJson(static_cast<double>(tokens) / decode) : OrderedJson();
  if (all_told) {
    json["picks"] = {
        {"vram", picks.vram}, {"pcie", picks.pcie}, {"cpu", picks.cpu}, {"staged", picks.staged}, {"late", picks.late}};
  }
  json["sampling"] = SamplingJson(first->effective_sampling);
  if (all_told) json["deterministic"] = deterministic;
  json["measured_by"] = all_told ? "worker" : "gateway";
  return json;
}

template <typename T>
void Put(OrderedJson& json, const char* name, const std::optional<T>& value) {
  if (value) json[name] = *value;
}

}  // namespace

OrderedJson SamplingJson(const engine::SamplingParams& sampling) {
  OrderedJson json = OrderedJson::object();
  Put(json, "temperature", sampling.temperature);
  Put(json, "top_p", sampling.top_p);
  Put(json, "top_k", sampling.top_k);
  Put(json, "min_p", sampling.min_p);
  Put(json, "repetition_penalty", sampling.repetition_penalty);
  Put(json, "presence_penalty", sampling.presence_penalty);
  Put(json, "frequency_penalty", sampling.frequency_penalty);
  Put(json, "seed", sampling.seed);
  return json;
}

OrderedJson UsageJson(const GenerationRun& run, const std::vector<ChoiceEnd>& ends, size_t prompt_tokens) {
  size_t completion_tokens = 0;
  for (const ChoiceEnd& end : ends) completion_tokens += end.tokens;
  OrderedJson hearth = WorkerReceipts(ends);
  if (!hearth.is_object()) hearth = OrderedJson::object();
  if (run.seconds_to_first_token() >= 0) hearth["first_token_seconds"] = run.seconds_to_first_token();
  hearth["total_seconds"] = run.seconds();
  OrderedJson usage;
  usage["prompt_tokens"] = prompt_tokens;
  usage["completion_tokens"] = completion_tokens;
  usage["total_tokens"] = prompt_tokens + completion_tokens;
  usage["hearth"] = std::move(hearth);
  return usage;
}

std::string WireText(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace hearth::serving
