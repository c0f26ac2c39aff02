#include "gateway/serving/chat_handler.h"

#include <algorithm>

#include "gateway/http/error_response.h"
#include "gateway/openai/chat_request.h"
#include "gateway/openai/request_body.h"
#include "gateway/serving/answer_rules.h"
#include "gateway/serving/chat_answer.h"
#include "gateway/text/chat_template.h"

namespace hearth::serving {
namespace {

// A chat request that can be served: everything that can be refused has been looked at.
struct PreparedChat {
  openai::ChatRequest request;
  ReadyModel model;
  std::vector<text::Segment> segments;
  std::vector<int32_t> ids;
  engine::GenerateSpec rules;  // constraint and forced_after alone
};

Result<PreparedChat> Prepare(const Services& services, const http::HttpRequest& http_request) {
  Result<openai::OrderedJson> body = openai::ParseBody(http_request.body);
  if (!body.ok()) return body.status();
  Result<openai::ChatRequest> request = openai::ParseChatRequest(*body, services.strict);
  if (!request.ok()) return request.status();
  Result<ReadyModel> model = RequireReady(services);
  if (!model.ok()) return model.status();
  if (Status status = CheckModelName(services, request->model); !status.ok()) return status;
  Result<std::vector<text::Segment>> segments = text::RenderChat(request->prompt);
  if (!segments.ok()) return segments.status();
  size_t bytes = 0;
  for (const text::Segment& segment : *segments) bytes += segment.text.size();
  if (Status status = CheckTextLength(*model, bytes, "messages"); !status.ok()) return status;
  std::vector<int32_t> ids = model->text->tokenizer.EncodeSegments(*segments);
  if (Status status = CheckPromptIds(*model, ids, "messages"); !status.ok()) return status;
  if (Status status = CheckBiases(*model, request->sampling); !status.ok()) return status;
  engine::GenerateSpec rules;
  if (Status status = SetChatRules(*model, *request, rules); !status.ok()) return status;
  BanUnknownIds(*model, request->sampling);
  return PreparedChat{*std::move(request), *std::move(model), *std::move(segments), std::move(ids), std::move(rules)};
}

// The model's own end ids, and every token that opens a turn.
std::vector<int32_t> ChatStopIds(const ReadyModel& model) {
  std::vector<int32_t> ids = model.info().eos_ids;
  for (const int32_t id : model.text->turn_ids) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace

http::HttpResponse HandleChat(const Services& services, const http::HttpRequest& http_request) {
  const Deadline deadline = Deadline::After(services.request_timeout);
  if (!openai::IsJsonRequest(http_request)) return http::ErrorResponse(415, "the body must be application/json");
  Result<PreparedChat> prepared = Prepare(services, http_request);
  if (!prepared.ok()) return Failure(services, http_request, prepared.status());
  const openai::ChatRequest& request = prepared->request;

  std::vector<engine::GenerateSpec> specs;
  for (int i = 0; i < request.n; ++i) {
    engine::GenerateSpec spec{.request_id = http_request.id, .session = request.session, .prompt_ids = prepared->ids};
    spec.max_tokens = RoomFor(prepared->model, prepared->ids.size(), request.max_tokens);
    spec.sampling = request.sampling;
    spec.sampling.seed = openai::ChoiceSeed(request.sampling.seed, static_cast<size_t>(i));
    spec.stop_ids = ChatStopIds(prepared->model);
    spec.ignore_eos = request.ignore_eos;
    spec.constraint = prepared->rules.constraint;
    spec.forced_after = prepared->rules.forced_after;
    spec.top_logprobs = request.top_logprobs;
    specs.push_back(std::move(spec));
  }
  const openai::ResponseHead head = NewHead(services, prepared->model, "chatcmpl-", request.model);
  const size_t prompt_tokens = prepared->ids.size();
  auto answer = std::make_shared<ChatAnswer>(services, prepared->model, head, request, prompt_tokens);
  http::HttpResponse response = RunAnswer(services, http_request, std::move(specs), deadline, request.stream.stream,
                                          prompt_tokens, std::move(answer));
  AddIgnored(request.unknown_fields, response);
  return response;
}

http::HttpResponse HandleApplyTemplate(const Services& services, const http::HttpRequest& http_request) {
  if (!openai::IsJsonRequest(http_request)) return http::ErrorResponse(415, "the body must be application/json");
  Result<PreparedChat> prepared = Prepare(services, http_request);
  if (!prepared.ok()) return Failure(services, http_request, prepared.status());
  OrderedJson body = {{"prompt", text::JoinSegments(prepared->segments)}, {"tokens", prepared->ids.size()}};
  http::HttpResponse response{.body = WireText(body)};
  AddIgnored(prepared->request.unknown_fields, response);
  return response;
}

}  // namespace hearth::serving
