#include "gateway/sglang/generate_request.h"

#include <algorithm>
#include <limits>

#include "gateway/openai/completion_request.h"

namespace hearth::sglang {
namespace {

using openai::FieldReader;
using openai::Shown;

constexpr int64_t kMaxTopLogprobs = 1024;
constexpr size_t kMaxChosenIds = 16'384;
constexpr const char* kFields[] = {"text",           "input_ids",         "sampling_params",  "stream",
                                   "return_logprob", "logprob_start_len", "top_logprobs_num", "token_ids_logprob",
                                   "path",           "decode_from",       "logits_hash"};
constexpr const char* kSamplingFields[] = {"temperature",
                                           "top_p",
                                           "top_k",
                                           "min_p",
                                           "max_new_tokens",
                                           "stop",
                                           "ignore_eos",
                                           "seed",
                                           "skip_special_tokens",
                                           "repetition_penalty",
                                           "presence_penalty",
                                           "frequency_penalty",
                                           "logit_bias",
                                           "n"};

constexpr const char* kScoringParams =
    "sampling_params.max_new_tokens of 0, or of 1 at temperature 0 without penalties, logit_bias and stop";

template <size_t N>
void NoteUnknown(FieldReader& fields, const OrderedJson& object, const char* const (&known)[N], bool strict,
                 std::vector<std::string>& unknown) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_null() || std::find(std::begin(known), std::end(known), name) != std::end(known)) continue;
    if (strict) fields.Fail(name, "is not a field of this request");
    unknown.push_back(fields.Path(name));
  }
}

bool Samples(const GenerateRequest& request) {
  const engine::SamplingParams& s = request.sampling;
  return s.temperature.value_or(0) > 0 || s.repetition_penalty.value_or(1) != 1 ||
         s.presence_penalty.value_or(0) != 0 || s.frequency_penalty.value_or(0) != 0 || !s.logit_bias.empty() ||
         !request.stops.empty();
}

void ReadInput(FieldReader& fields, GenerateRequest& request) {
  request.text = fields.String("text");
  const OrderedJson* ids = fields.Get("input_ids");
  if (!fields.ok()) return;
  if ((ids != nullptr) == request.text.has_value()) {
    fields.Fail("text", "or input_ids must be given, and not both");
    return;
  }
  if (ids == nullptr) return;
  if (auto read = openai::ReadTokenIds(*ids)) {
    request.ids = *std::move(read);
  } else {
    fields.Fail("input_ids", "must be one list of token ids that is not empty");
  }
}

void ReadSamplingParams(FieldReader& fields, bool strict, GenerateRequest& request) {
  const OrderedJson* params = fields.Object("sampling_params");
  if (params == nullptr) return;
  FieldReader inner(*params, "sampling_params.");
  NoteUnknown(inner, *params, kSamplingFields, strict, request.unknown_fields);
  request.sampling = openai::ReadSampling(inner);
  request.stops = openai::ReadStops(inner, kMaxStops);
  if (const auto most = inner.Integer("max_new_tokens", 0, std::numeric_limits<int32_t>::max())) {
    request.max_new_tokens = static_cast<uint32_t>(*most);
  }
  request.ignore_eos = inner.Bool("ignore_eos").value_or(false);
  request.skip_special = inner.Bool("skip_special_tokens").value_or(true);
  inner.Integer("n", 1, 1);
  request.samples = Samples(request);
  if (!inner.ok()) fields.Fail(inner.status());
}

void ReadLogprobs(FieldReader& fields, GenerateRequest& request) {
  request.return_logprob = fields.Bool("return_logprob").value_or(false);
  request.logits_hash = fields.Bool("logits_hash").value_or(false);
  if (request.return_logprob || request.logits_hash) {
    if (!request.max_new_tokens) request.max_new_tokens = 1;
    // One token is the most likely one unless a temperature is given, whether the sequence is scored or not.
    if (*request.max_new_tokens <= 1 && !request.sampling.temperature) request.sampling.temperature = 0;
  }
  const auto start = fields.Integer("logprob_start_len", -1, std::numeric_limits<int32_t>::max());
  if (start && *start >= 0) request.logprob_start = static_cast<uint32_t>(*start);
  if (!start && request.logits_hash && request.scores()) request.logprob_start = 0;
  request.top_logprobs = static_cast<uint32_t>(fields.Integer("top_logprobs_num", 0, kMaxTopLogprobs).value_or(0));
  if (const OrderedJson* chosen = fields.Get("token_ids_logprob"); chosen != nullptr) {
    auto ids = openai::ReadTokenIds(*chosen);
    if (ids && ids->size() <= kMaxChosenIds) {
      request.chosen_ids = *std::move(ids);
    } else {
      fields.Fail("token_ids_logprob", StrCat("must be a list of 1 to ", kMaxChosenIds, " token ids"));
    }
  }
  if (!request.return_logprob && (request.top_logprobs > 0 || !request.chosen_ids.empty())) {
    fields.Fail(request.top_logprobs > 0 ? "top_logprobs_num" : "token_ids_logprob", "needs return_logprob to be true");
  }
  if (!request.chosen_ids.empty() && !request.scores()) {
    fields.Fail("token_ids_logprob", StrCat("needs ", kScoringParams));
  }
}

void ReadPath(FieldReader& fields, GenerateRequest& request) {
  const auto path = fields.String("path");
  const auto from = fields.Integer("decode_from", 1, std::numeric_limits<int32_t>::max());
  if (path && *path != "PREFILL" && *path != "DECODE") fields.Fail("path", "must be \"PREFILL\" or \"DECODE\"");
  if (path && !request.scores()) {
    fields.Fail("path", StrCat("needs return_logprob or logits_hash, and ", kScoringParams));
  }
  request.decode_path = path == "DECODE";
  if (from && !request.decode_path) fields.Fail("decode_from", "needs path to be \"DECODE\"");
  request.decode_from = static_cast<uint32_t>(from.value_or(1));
}

}  // namespace

Result<GenerateRequest> ParseGenerateRequest(const OrderedJson& body, bool strict) {
  GenerateRequest request;
  FieldReader fields(body);
  NoteUnknown(fields, body, kFields, strict, request.unknown_fields);
  ReadInput(fields, request);
  ReadSamplingParams(fields, strict, request);
  ReadLogprobs(fields, request);
  ReadPath(fields, request);
  request.stream = fields.Bool("stream").value_or(false);
  if (request.max_new_tokens == 0u && !request.scores()) {
    fields.Fail("sampling_params.max_new_tokens", "of 0 needs return_logprob or logits_hash");
  }
  if (request.stream && request.scores()) fields.Fail("stream", "must be false when a sequence is scored");
  if (!fields.ok()) return fields.status();
  return request;
}

}  // namespace hearth::sglang
