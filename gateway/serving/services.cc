#include "gateway/serving/services.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "common/base/utf8_prefix.h"
#include "gateway/http/error_response.h"
#include "gateway/text/model_tokenizer.h"

namespace hearth::serving {

using engine::WorkerState;

namespace {

constexpr size_t kMostLoggedBytes = 300;

// Whether the tokenizer is there and belongs to the worker's model.
Status CheckText(const engine::WorkerView& worker, const Services& services) {
  const std::shared_ptr<const ModelText> text = services.text.get();
  if (!text) return Unavailable(services.text.problem().empty() ? "no tokenizer yet" : services.text.problem());
  const Status status = text::CheckModelHasIds(text->tokenizer, text->dir, worker.info.vocab_size);
  return status.ok() ? status : Unavailable(status.message(), kAnotherFolder);
}

Status CheckRoom(const ReadyModel& model, size_t tokens, std::string_view counted, uint32_t after,
                 const std::string& param) {
  const uint32_t context = model.info().max_model_len;
  if (tokens + after <= context) return Status::Ok();
  return FailedPrecondition("the prompt has ", counted, tokens, " tokens, the context holds ", context,
                            after > 0 ? " with at least one generated" : "")
      .WithParam(param);
}

}  // namespace

std::string StateWord(const Services& services) {
  if (services.draining != nullptr && *services.draining) return "draining";
  const auto view = services.workers.view();
  if (view->ready() && !CheckText(*view, services).ok()) return "no_tokenizer";
  return engine::StateWord(*view);
}

std::string SessionOf(const http::HttpRequest& request, const std::string& named, const std::vector<int32_t>& prompt) {
  if (const std::string_view header = request.Header("x-session-id"); !header.empty()) return std::string(header);
  return named.empty() ? engine::PromptSession(prompt) : named;
}

Result<ReadyModel> RequireReady(const Services& services) {
  ReadyModel model{services.workers.view(), services.text.get()};
  if (!model.worker->answers) {
    const std::vector<std::string>& targets = services.workers.targets();
    if (targets.size() > 1) return Unavailable("all ", targets.size(), " workers are down: ", model.worker->problem);
    return Unavailable("the worker at ", targets.front(), " is down: ", model.worker->problem);
  }
  switch (model.info().state) {
    case WorkerState::kReady:
      break;
    case WorkerState::kLoading:
      return Unavailable("the worker is loading the model, ", static_cast<int>(model.info().load.ratio * 100),
                         " % done");
    case WorkerState::kDraining:
      return Unavailable("the worker is draining: it takes no new requests");
    default:
      return Unavailable("the worker has failed; its log says why");
  }
  if (Status status = CheckText(*model.worker, services); !status.ok()) return status;
  return model;
}

std::vector<std::string> ServedNames(const Services& services) {
  std::vector<std::string> names = services.served_names;
  const auto add = [&names](const char* name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  std::string dir = services.workers.view()->info.model_dir;
  while (dir.ends_with('/')) dir.pop_back();
  if (dir.substr(dir.rfind('/') + 1) == "hearth-tiny") {
    add("hearth-tiny");
    add("glm-5.3-flash");
  }
  return names;
}

Status TookTooLong(const Services& services) {
  return DeadlineExceeded("the request took longer than ", services.request_timeout.count() / 1000.0,
                          " s, queueing included; see --request-timeout");
}

Status CheckModelName(const Services& services, const std::string& name) {
  const std::vector<std::string> names = ServedNames(services);
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return Status::Ok();
  std::string served;
  for (const std::string& one : names) served += (served.empty() ? "" : ", ") + one;
  return NotFound("the model ", name.substr(0, 100), " is not served here, only ", served).WithParam("model");
}

Status CheckTextLength(const ReadyModel& model, size_t bytes, const std::string& param, uint32_t after) {
  const size_t longest = model.text->longest_token;
  return CheckRoom(model, (bytes + longest - 1) / longest, "at least ", after, param);
}

Status CheckPromptIds(const ReadyModel& model, const std::vector<int32_t>& ids, const std::string& param,
                      uint32_t after) {
  if (ids.empty()) return InvalidArgument("the prompt is empty: it has no token").WithParam(param);
  const int64_t vocabulary = model.info().vocab_size;
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocabulary) {
      return InvalidArgument("token id ", id, " is outside the vocabulary, 0 to ", vocabulary - 1).WithParam(param);
    }
  }
  return CheckRoom(model, ids.size(), "", after, param);
}

uint32_t RoomFor(const ReadyModel& model, size_t prompt_tokens, std::optional<uint32_t> asked) {
  const uint32_t room = model.info().max_model_len - static_cast<uint32_t>(prompt_tokens);
  return std::min(asked.value_or(room), room);
}

Status CheckBiases(const ReadyModel& model, const engine::SamplingParams& sampling) {
  const auto& biases = sampling.logit_bias;
  if (biases.empty() || biases.rbegin()->first < static_cast<int64_t>(model.info().vocab_size)) return Status::Ok();
  return InvalidArgument("logit_bias names token ", biases.rbegin()->first, ", outside the vocabulary, 0 to ",
                         model.info().vocab_size - 1)
      .WithParam("logit_bias");
}

void AddIgnored(const std::vector<std::string>& unknown, http::HttpResponse& response) {
  constexpr size_t kMostNames = 20;
  constexpr size_t kMostBytes = 64;
  std::string list;
  for (size_t i = 0; i < std::min(unknown.size(), kMostNames); ++i) {
    std::string name = unknown[i].substr(0, kMostBytes);
    for (char& c : name) {
      if (c <= ' ' || c >= 0x7F || c == ',') c = '?';
    }
    list += (list.empty() ? "" : ", ") + name;
  }
  if (!list.empty()) response.headers.emplace_back("x-hearth-ignored", list);
}

http::HttpResponse Failure(const Services&, const http::HttpRequest& request, const Status& status) {
  // The message about a wrong value quotes it, and what users write stays out of the log.
  const bool quotes = status.code() == StatusCode::kInvalidArgument;
  const std::string place = status.param().empty() ? "the body" : status.param();
  request.note->error = Utf8Prefix(quotes ? StrCat("not accepted: ", place) : status.message(), kMostLoggedBytes);
  return http::ErrorResponse(status);
}

std::string NewId(const char* prefix) {
  thread_local std::mt19937_64 random{std::random_device{}()};
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(random()),
                static_cast<unsigned long long>(random()));
  return std::string(prefix).append(digits, 24);
}

}  // namespace hearth::serving
