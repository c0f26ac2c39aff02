#include "gateway/text/chat_template.h"

#include <optional>
#include <utility>

#include "gateway/text/chat_tools.h"
#include "gateway/text/message_text.h"
#include "gateway/text/prompt_builder.h"
#include "gateway/text/tool_results.h"
#include "gateway/text/utf8.h"

namespace hearth::text {
namespace {

bool HasRole(const OrderedJson& message, std::string_view role) {
  const OrderedJson* found = FindMember(message, "role");
  return found && *found == role;
}

std::string_view EffortWord(const OrderedJson& effort) {
  return effort == "low" ? "Low" : effort == "high" ? "High" : "Max";
}

// Reasoning and visible content of an assistant message.
struct AssistantText {
  std::optional<std::string> reasoning;
  std::string content;
};

AssistantText SplitAssistantText(const OrderedJson& message, std::string content) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const OrderedJson* field = FindMember(message, "reasoning_content");
  if (field && field->is_string()) return {field->get<std::string>(), std::move(content)};
  const size_t first_close = content.find(kClose);
  if (first_close == std::string::npos) return {std::nullopt, std::move(content)};
  std::string reasoning = content.substr(0, first_close);
  if (const size_t open = reasoning.rfind(kOpen); open != std::string::npos) reasoning.erase(0, open + kOpen.size());
  return {std::move(reasoning), content.substr(content.rfind(kClose) + kClose.size())};
}

class Renderer {
 public:
  explicit Renderer(const ChatInput& input) : input_(input) {}

  Result<std::vector<Segment>> Render() {
    if (!input_.messages.is_array()) return InvalidArgument("messages is not a list").WithParam("messages");
    if (Status s = CheckTools(input_.tools); !s.ok()) return s;
    out_.Markup("[gMASK]<sop><|system|>Reasoning Effort: ");
    out_.Markup(EffortWord(input_.reasoning_effort));
    RenderToolsBlock(input_.tools, out_);
    const size_t count = input_.messages.size();
    for (size_t i = 0; i < count; ++i) {
      if (HasRole(input_.messages[i], "user")) last_user_ = static_cast<int64_t>(i);
    }
    for (size_t i = 0; i < count;) {
      Result<size_t> next = RenderAt(i);
      if (!next.ok()) return next.status();
      i = *next;
    }
    if (input_.add_generation_prompt) {
      out_.Markup("<|assistant|><think>");
      if (input_.close_thinking) out_.Markup("</think>");
    }
    return std::move(out_).Take();
  }

 private:
  // Renders what starts at message `i`; returns the index after it.
  Result<size_t> RenderAt(size_t i) {
    const OrderedJson& message = input_.messages[i];
    const std::string place = StrCat("messages[", i, "]");
    if (!message.is_object()) return InvalidArgument(place, " is not an object").WithParam(place);
    if (HasRole(message, "tool")) {
      size_t end = i + 1;
      while (end < input_.messages.size() && HasRole(input_.messages[end], "tool")) ++end;
      if (Status s = RenderToolResults(input_.messages, i, end, input_.tools, out_); !s.ok()) return s;
      return end;
    }
    Status status;
    if (HasRole(message, "assistant")) {
      status = Assistant(message, i, place);
    } else if (HasRole(message, "user") || HasRole(message, "system")) {
      out_.Markup(HasRole(message, "user") ? "<|user|>" : "<|system|>");
      status = AppendVisibleText(FindMember(message, "content"), place + ".content", out_);
    }  // any other role prints nothing
    if (!status.ok()) return status;
    return i + 1;
  }

  Status Assistant(const OrderedJson& message, size_t index, const std::string& place) {
    // Placeholders of media become plain text here: trimming and splitting work on the joined text.
    PromptBuilder visible;
    if (Status s = AppendVisibleText(FindMember(message, "content"), place + ".content", visible); !s.ok()) return s;
    const AssistantText text = SplitAssistantText(message, JoinSegments(std::move(visible).Take()));
    const bool kept = !input_.clear_thinking || static_cast<int64_t>(index) > last_user_;
    out_.Markup("<|assistant|><think>");
    if (kept && text.reasoning) out_.Content(*text.reasoning);
    out_.Markup("</think>");
    out_.Content(TrimSpace(text.content));
    return RenderToolCalls(FindMember(message, "tool_calls"), place + ".tool_calls", out_);
  }

  const ChatInput& input_;
  PromptBuilder out_;
  int64_t last_user_ = -1;
};

}  // namespace

Result<std::vector<Segment>> RenderChat(const ChatInput& input) { return Renderer(input).Render(); }

std::string JoinSegments(const std::vector<Segment>& segments) {
  std::string out;
  for (const Segment& segment : segments) out += segment.text;
  return out;
}

}  // namespace hearth::text
