#include "gateway/openai/chat_response.h"

#include "common/base/check.h"

namespace hearth::openai {
namespace {

using text::Delta;

OrderedJson Head(const ResponseHead& head, const char* kind) {
  return {{"id", head.id},
          {"object", kind},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", head.fingerprint}};
}

OrderedJson OrNull(const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson(text); }

}  // namespace

OrderedJson DeltaJson(const Delta& delta, const std::string& call_id) {
  switch (delta.kind) {
    case Delta::Kind::kReasoning:
      return {{"reasoning_content", delta.text}};
    case Delta::Kind::kContent:
      return {{"content", delta.text}};
    case Delta::Kind::kCallStart: {
      OrderedJson call = {{"index", delta.call_index},
                          {"id", call_id},
                          {"type", "function"},
                          {"function", {{"name", delta.text}, {"arguments", ""}}}};
      return {{"tool_calls", OrderedJson::array({std::move(call)})}};
    }
    case Delta::Kind::kCallArguments: {
      OrderedJson call = {{"index", delta.call_index}, {"function", OrderedJson::object({{"arguments", delta.text}})}};
      return {{"tool_calls", OrderedJson::array({std::move(call)})}};
    }
  }
  return OrderedJson::object();
}

OrderedJson ChatChunk(const ResponseHead& head, size_t index, OrderedJson delta, OrderedJson logprobs,
                      const std::string& finish_reason) {
  OrderedJson chunk = Head(head, "chat.completion.chunk");
  OrderedJson choice = {{"index", index}};
  choice["delta"] = std::move(delta);
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = OrNull(finish_reason);
  chunk["choices"] = OrderedJson::array({std::move(choice)});
  return chunk;
}

OrderedJson ChatUsageChunk(const ResponseHead& head, OrderedJson usage) {
  OrderedJson chunk = Head(head, "chat.completion.chunk");
  chunk["choices"] = OrderedJson::array();
  chunk["usage"] = std::move(usage);
  return chunk;
}

void MessageCollector::Add(const Delta& delta, const std::string& call_id) {
  switch (delta.kind) {
    case Delta::Kind::kReasoning:
      reasoning_ += delta.text;
      return;
    case Delta::Kind::kContent:
      content_ += delta.text;
      return;
    case Delta::Kind::kCallStart:
      HEARTH_CHECK(delta.call_index == static_cast<int>(calls_.size()), "calls are numbered as they come");
      calls_.push_back({call_id, delta.text, ""});
      return;
    case Delta::Kind::kCallArguments:
      calls_.at(static_cast<size_t>(delta.call_index)).arguments += delta.text;
      return;
  }
}

OrderedJson MessageCollector::Message() const {
  OrderedJson message = {{"role", "assistant"}};
  message["content"] = OrNull(content_);
  message["reasoning_content"] = OrNull(reasoning_);
  if (calls_.empty()) return message;
  OrderedJson calls = OrderedJson::array();
  for (const Call& call : calls_) {
    calls.push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  message["tool_calls"] = std::move(calls);
  return message;
}

OrderedJson ChatChoice(size_t index, OrderedJson message, OrderedJson logprobs, const std::string& finish_reason) {
  OrderedJson choice = {{"index", index}};
  choice["message"] = std::move(message);
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = finish_reason;
  return choice;
}

OrderedJson ChatCompletion(const ResponseHead& head, OrderedJson choices, OrderedJson usage) {
  OrderedJson response = Head(head, "chat.completion");
  response["choices"] = std::move(choices);
  response["usage"] = std::move(usage);
  return response;
}

OrderedJson CompletionChoice(size_t index, const std::string& text, OrderedJson logprobs,
                             const std::string& finish_reason) {
  OrderedJson choice = {{"index", index}, {"text", text}};
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = OrNull(finish_reason);
  return choice;
}

OrderedJson TextCompletion(const ResponseHead& head, OrderedJson choices) {
  OrderedJson response = Head(head, "text_completion");
  response["choices"] = std::move(choices);
  return response;
}

}  // namespace hearth::openai
