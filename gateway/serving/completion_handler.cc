#include "gateway/serving/completion_handler.h"

#include "gateway/http/error_response.h"
#include "gateway/openai/completion_request.h"
#include "gateway/openai/request_body.h"
#include "gateway/serving/answer_rules.h"
#include "gateway/serving/completion_answer.h"
#include "gateway/serving/score_rows.h"

namespace hearth::serving {
namespace {

// The ids of each prompt. Special-token text in a prompt becomes the token, as everywhere outside of chats.
Result<std::vector<std::vector<int32_t>>> EncodePrompts(const ReadyModel& model,
                                                        const openai::CompletionRequest& request) {
  std::vector<std::vector<int32_t>> all;
  const uint32_t after = request.max_tokens == 0u ? 0 : 1;
  for (const openai::Prompt& prompt : request.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    if (text != nullptr) {
      if (Status status = CheckTextLength(model, text->size(), "prompt", after); !status.ok()) return status;
    }
    all.push_back(text != nullptr ? model.text->tokenizer.Encode(*text) : std::get<std::vector<int32_t>>(prompt));
    if (Status status = CheckPromptIds(model, all.back(), "prompt", after); !status.ok()) return status;
  }
  return all;
}

// A scored prompt is listed once a choice.
Status CheckEchoSize(const openai::CompletionRequest& request, size_t prompt_tokens) {
  if (!request.echo || request.logprobs < 0) return Status::Ok();
  const size_t a_token = static_cast<size_t>(request.logprobs) + 1;
  return CheckScoreEntries(prompt_tokens * static_cast<size_t>(request.n) * a_token, "logprobs",
                           "send fewer or shorter prompts, or ask for fewer choices (n) or logprobs");
}

// The prompts as they are echoed; their log-probabilities come from the worker.
Result<std::vector<PromptEcho>> MakeEchoes(const Services& services, const ReadyModel& model,
                                           const http::HttpRequest& http_request,
                                           const openai::CompletionRequest& request,
                                           const std::vector<std::vector<int32_t>>& prompts, Deadline deadline) {
  std::vector<PromptEcho> echoes;
  if (!request.echo) return echoes;
  for (const std::vector<int32_t>& ids : prompts) {
    PromptEcho echo{.text = model.text->tokenizer.Decode(ids, /*skip_special=*/false), .ids = ids};
    if (request.logprobs >= 0 && ids.size() > 1) {
      const engine::ScoreSpec spec{
          .request_id = http_request.id, .ids = ids, .top_k = static_cast<uint32_t>(request.logprobs)};
      Result<std::vector<engine::ScoreRow>> rows = ScoreRows(services, http_request, spec, deadline);
      if (!rows.ok()) return rows.status();
      echo.rows = *std::move(rows);
    }
    echoes.push_back(std::move(echo));
  }
  return echoes;
}

std::vector<engine::GenerateSpec> MakeSpecs(const ReadyModel& model, const http::HttpRequest& http_request,
                                            const openai::CompletionRequest& request,
                                            const std::vector<std::vector<int32_t>>& prompts) {
  std::vector<engine::GenerateSpec> specs;
  if (request.max_tokens == 0u) return specs;
  for (const std::vector<int32_t>& ids : prompts) {
    for (int i = 0; i < request.n; ++i) {
      engine::GenerateSpec spec{.request_id = http_request.id, .session = request.session, .prompt_ids = ids};
      spec.max_tokens = RoomFor(model, ids.size(), request.max_tokens);
      spec.sampling = request.sampling;
      spec.sampling.seed = openai::ChoiceSeed(request.sampling.seed, static_cast<size_t>(i));
      BanUnknownIds(model, spec.sampling);
      spec.ignore_eos = request.ignore_eos;
      if (request.format.automaton) spec.constraint = {.automaton = request.format.automaton};
      spec.top_logprobs = request.logprobs;
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

http::HttpResponse Complete(const Services& services, const http::HttpRequest& http_request,
                            const openai::CompletionRequest& request, Deadline deadline) {
  Result<ReadyModel> model = RequireReady(services);
  if (!model.ok()) return Failure(services, http_request, model.status());
  if (Status status = CheckModelName(services, request.model); !status.ok()) {
    return Failure(services, http_request, status);
  }
  if (Status status = CheckBiases(*model, request.sampling); !status.ok()) {
    return Failure(services, http_request, status);
  }
  Result<std::vector<std::vector<int32_t>>> prompts = EncodePrompts(*model, request);
  if (!prompts.ok()) return Failure(services, http_request, prompts.status());
  size_t prompt_tokens = 0;
  for (const auto& ids : *prompts) prompt_tokens += ids.size();
  if (Status status = CheckEchoSize(request, prompt_tokens); !status.ok()) {
    return Failure(services, http_request, status);
  }
  Result<std::vector<PromptEcho>> echoes = MakeEchoes(services, *model, http_request, request, *prompts, deadline);
  if (!echoes.ok()) return Failure(services, http_request, echoes.status());

  std::vector<engine::GenerateSpec> specs = MakeSpecs(*model, http_request, request, *prompts);
  const openai::ResponseHead head = NewHead(services, *model, "cmpl-", request.model);
  auto answer = std::make_shared<CompletionAnswer>(services, *model, head, request, prompt_tokens, *std::move(echoes));
  if (specs.empty()) {
    // Only the prompt was asked for: every choice ends before it begins, at the limit of no tokens.
    answer->AlreadyEnded();
  }
  return RunAnswer(services, http_request, std::move(specs), deadline, request.stream.stream, prompt_tokens,
                   std::move(answer));
}

}  // namespace

http::HttpResponse HandleCompletion(const Services& services, const http::HttpRequest& http_request) {
  const Deadline deadline = Deadline::After(services.request_timeout);
  if (!openai::IsJsonRequest(http_request)) return http::ErrorResponse(415, "the body must be application/json");
  Result<openai::OrderedJson> body = openai::ParseBody(http_request.body);
  if (!body.ok()) return Failure(services, http_request, body.status());
  Result<openai::CompletionRequest> request = openai::ParseCompletionRequest(*body, services.strict);
  if (!request.ok()) return Failure(services, http_request, request.status());
  http::HttpResponse response = Complete(services, http_request, *request, deadline);
  AddIgnored(request->unknown_fields, response);
  return response;
}

}  // namespace hearth::serving
