#include "gateway/sglang/generate_handler.h"

#include <chrono>

#include "gateway/http/error_response.h"
#include "gateway/openai/request_body.h"
#include "gateway/serving/answer_rules.h"
#include "gateway/serving/score_rows.h"
#include "gateway/sglang/generate_answer.h"
#include "gateway/sglang/logprob_lists.h"

namespace hearth::sglang {
namespace {

using serving::Failure;
using serving::ReadyModel;
using serving::Services;
using serving::WireText;

struct Prepared {
  Deadline deadline;
  GenerateRequest request;
  ReadyModel model;
  std::vector<int32_t> ids;
};

Result<Prepared> Prepare(const Services& services, const http::HttpRequest& http_request) {
  const Deadline deadline = Deadline::After(services.request_timeout);
  Result<OrderedJson> body = openai::ParseBody(http_request.body);
  if (!body.ok()) return body.status();
  Result<GenerateRequest> request = ParseGenerateRequest(*body, services.strict);
  if (!request.ok()) return request.status();
  Result<ReadyModel> model = serving::RequireReady(services);
  if (!model.ok()) return model.status();
  const uint32_t after = request->max_new_tokens == 0u ? 0 : 1;
  if (request->text) {
    Status status = serving::CheckTextLength(*model, request->text->size(), "text", after);
    if (!status.ok()) return status;
  }
  std::vector<int32_t> ids = request->text ? model->text->tokenizer.Encode(*request->text) : request->ids;
  const char* const param = request->text ? "text" : "input_ids";
  if (Status status = serving::CheckPromptIds(*model, ids, param, after); !status.ok()) return status;
  if (Status status = serving::CheckBiases(*model, request->sampling); !status.ok()) return status;
  for (const int32_t id : request->chosen_ids) {
    if (id < static_cast<int64_t>(model->info().vocab_size)) continue;
    return InvalidArgument("token_ids_logprob names token ", id, ", outside the vocabulary")
        .WithParam("token_ids_logprob");
  }
  if (request->logprob_start && *request->logprob_start > ids.size()) {
    return InvalidArgument("logprob_start_len is ", *request->logprob_start, ", the prompt has ", ids.size(), " tokens")
        .WithParam("logprob_start_len");
  }
  if (request->decode_path && request->decode_from >= ids.size()) {
    return InvalidArgument("decode_from is ", request->decode_from, ", the prompt has ", ids.size(), " tokens")
        .WithParam("decode_from");
  }
  return Prepared{deadline, *std::move(request), *std::move(model), std::move(ids)};
}

// Scores the prompt and puts the lists into `meta`. `output_ids` gets the best id after the last token.
Status ScorePrompt(const Services& services, const http::HttpRequest& http_request, const Prepared& prepared,
                   OrderedJson& meta, std::vector<int32_t>& output_ids) {
  const GenerateRequest& request = prepared.request;
  const auto count = static_cast<uint32_t>(prepared.ids.size());
  const ScoreShape shape{.start = request.logprob_start.value_or(count),
                         .top = request.top_logprobs,
                         .chosen = !request.chosen_ids.empty(),
                         .logprobs = request.return_logprob,
                         .hashes = request.logits_hash};
  const uint32_t first_row = FirstRow(shape);
  const size_t entries = (count - first_row) * (size_t{request.top_logprobs} + request.chosen_ids.size() + 1);
  if (Status status =
          serving::CheckScoreEntries(entries, "logprob_start_len", "raise logprob_start_len or ask for fewer a row");
      !status.ok()) {
    return status;
  }
  const engine::ScoreSpec spec{.request_id = http_request.id,
                               .ids = prepared.ids,
                               .first_row = first_row,
                               .top_k = std::max<uint32_t>(1, request.top_logprobs),
                               .chosen = request.chosen_ids,
                               .decode = request.decode_path,
                               .decode_from = request.decode_path ? request.decode_from : 0,
                               .logits_hash = request.logits_hash};
  Result<std::vector<engine::ScoreRow>> rows = serving::ScoreRows(services, http_request, spec, prepared.deadline);
  if (!rows.ok()) return rows.status();
  if (rows->back().top.empty()) return Internal("the worker's last row names no token");
  AddScoreLists(shape, prepared.ids, *rows, meta);
  output_ids = {rows->back().top.front().id};
  return Status::Ok();
}

http::HttpResponse Score(const Services& services, const http::HttpRequest& http_request, const Prepared& prepared) {
  const auto start = std::chrono::steady_clock::now();
  OrderedJson meta = {{"id", http_request.id}, {"prompt_tokens", prepared.ids.size()}};
  meta["completion_tokens"] = *prepared.request.max_new_tokens;
  meta["finish_reason"] = {{"type", "length"}, {"length", *prepared.request.max_new_tokens}};
  std::vector<int32_t> output_ids;
  if (Status status = ScorePrompt(services, http_request, prepared, meta, output_ids); !status.ok()) {
    return Failure(services, http_request, status);
  }
  meta["e2e_latency"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool shows_token = *prepared.request.max_new_tokens > 0;
  OrderedJson body = {
      {"text", shows_token ? prepared.model.text->tokenizer.Decode(output_ids, prepared.request.skip_special) : ""}};
  body["output_ids"] = output_ids;
  body["meta_info"] = std::move(meta);
  http_request.note->prompt_tokens = static_cast<int64_t>(prepared.ids.size());
  http_request.note->finish_reason = "scored";
  return {.body = WireText(body)};
}

http::HttpResponse Generate(const Services& services, const http::HttpRequest& http_request, const Prepared& prepared) {
  const GenerateRequest& request = prepared.request;
  OrderedJson input_lists = OrderedJson::object();
  if (request.return_logprob && request.logprob_start) {
    Prepared scoring = prepared;
    scoring.request.logits_hash = false;
    std::vector<int32_t> unused;
    if (Status status = ScorePrompt(services, http_request, scoring, input_lists, unused); !status.ok()) {
      return Failure(services, http_request, status);
    }
  }
  engine::GenerateSpec spec{.request_id = http_request.id, .prompt_ids = prepared.ids};
  spec.max_tokens = serving::RoomFor(prepared.model, prepared.ids.size(), request.max_new_tokens);
  spec.sampling = request.sampling;
  serving::BanUnknownIds(prepared.model, spec.sampling);
  spec.ignore_eos = request.ignore_eos;
  spec.top_logprobs = request.return_logprob ? static_cast<int32_t>(request.top_logprobs) : -1;
  spec.logits_hash = request.logits_hash;
  auto answer = std::make_shared<GenerateAnswer>(services, prepared.model, request, prepared.ids.size(),
                                                 http_request.id, std::move(input_lists));
  return serving::RunAnswer(services, http_request, {std::move(spec)}, prepared.deadline, request.stream,
                            prepared.ids.size(), std::move(answer));
}

}  // namespace

http::HttpResponse HandleGenerate(const Services& services, const http::HttpRequest& http_request) {
  if (!openai::IsJsonRequest(http_request)) return http::ErrorResponse(415, "the body must be application/json");
  Result<Prepared> prepared = Prepare(services, http_request);
  if (!prepared.ok()) return Failure(services, http_request, prepared.status());
  http::HttpResponse response = prepared->request.scores() ? Score(services, http_request, *prepared)
                                                           : Generate(services, http_request, *prepared);
  serving::AddIgnored(prepared->request.unknown_fields, response);
  return response;
}

}  // namespace hearth::sglang
