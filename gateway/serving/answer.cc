#include "gateway/serving/answer.h"

#include "common/base/version.h"

namespace hearth::serving {
namespace {

void NoteRun(http::RequestNote& note, const GenerationRun& run, const Answer& answer) {
  note.completion_tokens = static_cast<int64_t>(run.completion_tokens());
  note.finish_reason = answer.finish_reason();
}

void Stream(const Services& services, http::RequestNote& note, GenerationRun& run, Answer& answer,
            http::BodyWriter& body) {
  http::SseWriter sse(body);
  answer.SetStream(&sse, services.keep_alive);
  answer.Begin();
  const Status status = run.Run(answer);
  NoteRun(note, run, answer);
  if (status.ok()) {
    answer.EndStream(run);
    sse.Done();
    return;
  }
  note.error = status.message();
  if (status.code() == StatusCode::kCancelled) return;
  services.metrics.CountError(http::HttpStatusOf(status.code()));
  sse.Event(http::ErrorBody(status));
  sse.Done();
}

}  // namespace

http::HttpResponse RunAnswer(const Services& services, const http::HttpRequest& request,
                             std::vector<engine::GenerateSpec> specs, Deadline deadline, bool stream,
                             size_t prompt_tokens, std::shared_ptr<Answer> answer) {
  request.note->prompt_tokens = static_cast<int64_t>(prompt_tokens);
  auto run = std::make_shared<GenerationRun>(services, request, std::move(specs), deadline);
  if (const Status status = run->WaitAccepted(); !status.ok()) return Failure(services, request, status);
  if (stream) {
    http::HttpResponse response{.content_type = "text/event-stream"};
    response.headers.emplace_back("Cache-Control", "no-cache");
    response.stream = [&services, note = request.note, run, answer](http::BodyWriter& body) {
      Stream(services, *note, *run, *answer, body);
    };
    return response;
  }
  const Status status = run->Run(*answer);
  NoteRun(*request.note, *run, *answer);
  if (!status.ok()) return Failure(services, request, status);
  return {.body = WireText(answer->Whole(*run))};
}

void CountFinish(GatewayMetrics& metrics, const std::string& reason) {
  (reason == "length"       ? metrics.success_length
   : reason == "tool_calls" ? metrics.success_tool_calls
                            : metrics.success_stop)
      .Increment();
}

openai::ResponseHead NewHead(const Services& services, const ReadyModel& model, const char* id_prefix,
                             const std::string& model_name) {
  return {.id = NewId(id_prefix),
          .created = static_cast<int64_t>(std::time(nullptr)),
          .model = model_name.empty() ? services.served_names.front() : model_name,
          .fingerprint = StrCat("hearth-", Version(), "-", model.info().fingerprint.substr(0, 12))};
}

}  // namespace hearth::serving
