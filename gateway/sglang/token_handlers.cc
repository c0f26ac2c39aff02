#include "gateway/http/error_response.h"
#include "gateway/openai/completion_request.h"
#include "gateway/openai/request_body.h"
#include "gateway/openai/shared_fields.h"
#include "gateway/serving/receipts.h"
#include "gateway/sglang/generate_handler.h"

namespace hearth::sglang {
namespace {

using openai::FieldReader;
using openai::OrderedJson;
using serving::Failure;

// Refuses members other than these: the requests have nothing optional that could be left out unnoticed.
void RefuseOthers(FieldReader& fields, const OrderedJson& body, std::initializer_list<const char*> known) {
  for (const auto& [name, value] : body.items()) {
    bool found = value.is_null();
    for (const char* one : known) found = found || name == one;
    if (!found) fields.Fail(name, "is not a field of this request");
  }
}

Result<OrderedJson> Tokenize(const serving::Services& services, const http::HttpRequest& request) {
  Result<OrderedJson> body = openai::ParseBody(request.body);
  if (!body.ok()) return body.status();
  FieldReader fields(*body);
  RefuseOthers(fields, *body, {"prompt", "model"});
  const auto prompt = fields.String("prompt");
  const std::string model_name = openai::ReadModel(fields);
  if (!fields.ok()) return fields.status();
  if (!prompt) return InvalidArgument("prompt is missing, expected a string").WithParam("prompt");
  Result<serving::ReadyModel> model = serving::RequireReady(services);
  if (!model.ok()) return model.status();
  if (Status status = serving::CheckModelName(services, model_name); !status.ok()) return status;
  const std::vector<int32_t> ids = model->text->tokenizer.Encode(*prompt);
  return OrderedJson{{"tokens", ids}, {"count", ids.size()}, {"max_model_len", model->info().max_model_len}};
}

Result<OrderedJson> Detokenize(const serving::Services& services, const http::HttpRequest& request) {
  Result<OrderedJson> body = openai::ParseBody(request.body);
  if (!body.ok()) return body.status();
  FieldReader fields(*body);
  RefuseOthers(fields, *body, {"tokens", "model", "skip_special_tokens"});
  const OrderedJson* tokens = fields.Array("tokens");
  const std::string model_name = openai::ReadModel(fields);
  const bool skip = fields.Bool("skip_special_tokens").value_or(false);
  if (!fields.ok()) return fields.status();
  const auto ids = tokens == nullptr ? std::nullopt
                   : tokens->empty() ? std::make_optional(std::vector<int32_t>{})
                                     : openai::ReadTokenIds(*tokens);
  if (!ids) return InvalidArgument("tokens must be a list of token ids").WithParam("tokens");
  Result<serving::ReadyModel> model = serving::RequireReady(services);
  if (!model.ok()) return model.status();
  if (Status status = serving::CheckModelName(services, model_name); !status.ok()) return status;
  for (const int32_t id : *ids) {
    if (id < static_cast<int64_t>(model->info().vocab_size)) continue;
    return InvalidArgument("token id ", id, " is outside the vocabulary, 0 to ", model->info().vocab_size - 1)
        .WithParam("tokens");
  }
  return OrderedJson{{"text", model->text->tokenizer.Decode(*ids, skip)}};
}

http::HttpResponse Respond(const serving::Services& services, const http::HttpRequest& request,
                           Result<OrderedJson> (*handle)(const serving::Services&, const http::HttpRequest&)) {
  if (!openai::IsJsonRequest(request)) return http::ErrorResponse(415, "the body must be application/json");
  const Result<OrderedJson> body = handle(services, request);
  if (!body.ok()) return Failure(services, request, body.status());
  return {.body = serving::WireText(*body)};
}

}  // namespace

http::HttpResponse HandleTokenize(const serving::Services& services, const http::HttpRequest& request) {
  return Respond(services, request, Tokenize);
}

http::HttpResponse HandleDetokenize(const serving::Services& services, const http::HttpRequest& request) {
  return Respond(services, request, Detokenize);
}

}  // namespace hearth::sglang
