#include "gateway/text/output_parser.h"

#include <optional>
#include <utility>

#include "gateway/text/argument_types.h"
#include "gateway/text/argument_value.h"
#include "gateway/text/call_body.h"
#include "gateway/text/detokenizer.h"
#include "gateway/text/json_text.h"
#include "gateway/text/tag_scanner.h"
#include "gateway/text/utf8.h"

namespace hearth::text {

// One state machine; docs/chat_format.md has its table. Every method that takes a piece may append to `deltas_`.
struct OutputParser::Impl {
  enum class State { kReasoning, kContent, kName, kKey, kBetween, kValue, kLiteral };

  Impl(State start, const OrderedJson& request_tools, bool active, bool either)
      : state(start), tools(request_tools), tools_active(active), text_or_calls(either) {}

  // ---- what is emitted

  void Emit(Delta::Kind kind, std::string_view text, int call_index = -1) {
    if (text.empty()) return;
    const bool joins = !deltas.empty() && deltas.back().kind == kind && deltas.back().call_index == call_index;
    if (joins && kind != Delta::Kind::kCallStart) {
      deltas.back().text += text;
    } else {
      deltas.push_back({kind, std::string(text), call_index});
    }
  }

  void AddReasoning(std::string_view text) {
    reasoning_visible = reasoning_visible || !IsBlank(text);
    output.reasoning += text;
    Emit(Delta::Kind::kReasoning, text);
  }

  // Blanks at the end wait for more text, those at the very start never show.
  void AddContent(std::string_view text) {
    held_blanks += text;
    const size_t shown = LengthWithoutTrailingSpace(held_blanks);
    if (shown == 0) {
      if (output.content.empty()) held_blanks.clear();
      return;
    }
    std::string_view visible = std::string_view(held_blanks).substr(0, shown);
    if (output.content.empty()) visible = TrimSpace(visible);
    output.content += visible;
    Emit(Delta::Kind::kContent, visible);
    held_blanks.erase(0, shown);
  }

  void AddArguments(std::string_view text) {
    output.calls.back().arguments += text;
    Emit(Delta::Kind::kCallArguments, text, static_cast<int>(output.calls.size()) - 1);
  }

  void StartCall(std::string_view name) {
    output.calls.push_back({std::string(name), {}});
    Emit(Delta::Kind::kCallStart, name, static_cast<int>(output.calls.size()) - 1);
    first_argument = true;
    key.reset();
  }

  // Opens an argument: separator, name, colon.
  void AddArgumentName() {
    std::string text = first_argument ? "" : ", ";
    first_argument = false;
    AppendJsonString(text, *key);
    AddArguments(text + ": ");
  }

  // ---- steps

  void GiveBack(std::string_view after) {
    const std::string text = "<tool_call>" + collected + std::string(after);
    collected.clear();
    if (call_from_reasoning) {
      AddReasoning(text);
      state = State::kReasoning;
    } else {
      AddContent(text);
      state = State::kContent;
    }
  }

  void OpenCall(bool from_reasoning) {
    call_from_reasoning = from_reasoning;
    collected.clear();
    state = State::kName;
  }

  void EndCall() {
    AddArguments("}");
    state = State::kContent;
  }

  // The call's block ended (at `</tool_call>`, or with the output) while only a name was expected.
  void EndName(std::string_view end_tag) {
    const std::string_view name = TrimSpace(collected);
    if (IsValidCallName(name)) {
      StartCall(name);
      AddArguments("{");
      EndCall();
    } else if (const auto body = ParseCallBody(name)) {
      StartCall(body->name);
      AddArguments(body->arguments);
      state = State::kContent;
    } else {
      GiveBack(end_tag);
    }
  }

  void OpenArguments(std::string_view name) {
    StartCall(name);
    AddArguments("{");
  }

  void BeginValue() {
    state = State::kValue;
    value.clear();
    value_types = key ? tools.Of(output.calls.back().name, *key) : TypeSet();
    value_streams = key && value_types.IsOnly(TypeSet::kString);
    if (!value_streams) return;
    AddArgumentName();
    AddArguments("\"");
  }

  void AddValue(std::string_view text) {
    if (!value_streams) {
      value += text;
      return;
    }
    std::string escaped;
    AppendJsonEscaped(escaped, text);
    AddArguments(escaped);
  }

  void EndValue() {
    if (value_streams) {
      AddArguments("\"");
    } else if (key) {
      AddArgumentName();
      AddArguments(ArgumentText(value, value_types));
    }
    key.reset();
    state = State::kBetween;
  }

  // ---- one piece in each state

  void InReasoning(const TagPiece& piece) {
    if (piece.tag == Tag::kEndThink) {
      state = State::kContent;
    } else if (piece.tag == Tag::kThink && !reasoning_visible) {
      return;
    } else if (piece.tag == Tag::kToolCall && tools_active) {
      OpenCall(/*from_reasoning=*/true);
    } else {
      AddReasoning(piece.text);
    }
  }

  void InContent(const TagPiece& piece) {
    // An answer of a form begins where the thinking ends: its first characters may look like a tag.
    const bool nothing_yet = !text_or_calls && output.content.empty() && output.calls.empty();
    const bool may_call = tools_active && (!text_or_calls || output.content.empty());
    if (piece.tag == Tag::kToolCall && may_call) {
      OpenCall(/*from_reasoning=*/false);
    } else if (piece.tag == Tag::kThink && nothing_yet) {
      state = State::kReasoning;
    } else if (piece.tag == Tag::kEndThink && nothing_yet) {
      return;
    } else {
      AddContent(piece.text);
    }
  }

  void InName(const TagPiece& piece) {
    switch (piece.tag) {
      case Tag::kArgKey:
        if (const std::string_view name = TrimSpace(collected); IsValidCallName(name)) {
          OpenArguments(name);
          collected.clear();
          state = State::kKey;
        } else {
          collected += piece.text;
          state = State::kLiteral;
        }
        return;
      case Tag::kEndToolCall:
        return EndName(piece.text);
      case Tag::kEndArgKey:
        return RepairMissingKeyTag(piece);
      case Tag::kToolCall:
        GiveBack("");
        return OpenCall(call_from_reasoning);
      case Tag::kEndThink:
        if (call_from_reasoning) {
          GiveBack("");
          state = State::kContent;
          return;
        }
        break;
      default:
        break;
    }
    collected += piece.text;
  }

  // `NAMEKEY</arg_key>`: the opening tag of the key is missing.
  void RepairMissingKeyTag(const TagPiece& piece) {
    const std::string_view text = TrimSpace(collected);
    const std::string_view name = tools.LongestNameAtStart(text);
    if (name.empty()) {
      collected += piece.text;
      state = State::kLiteral;
      return;
    }
    std::string first_key(TrimSpace(text.substr(name.size())));
    OpenArguments(name);
    key = std::move(first_key);
    state = State::kBetween;
  }

  void InKey(const TagPiece& piece) {
    if (piece.tag == Tag::kEndArgKey || piece.tag == Tag::kArgValue) {
      key = std::string(TrimSpace(collected));
      state = State::kBetween;
      if (piece.tag == Tag::kArgValue) BeginValue();
    } else if (piece.tag == Tag::kEndToolCall) {
      EndCall();
    } else {
      collected += piece.text;
    }
  }

  void InBetween(const TagPiece& piece) {
    switch (piece.tag) {
      case Tag::kArgValue:
        return BeginValue();
      case Tag::kArgKey:
        key.reset();
        collected.clear();
        state = State::kKey;
        return;
      case Tag::kEndToolCall:
        return EndCall();
      case Tag::kToolCall:
        EndCall();
        return OpenCall(/*from_reasoning=*/false);
      default:
        return;  // text between the tags of a call is dropped
    }
  }

  void InValue(const TagPiece& piece) {
    if (piece.tag == Tag::kEndArgValue) {
      EndValue();
    } else if (piece.tag == Tag::kEndToolCall) {
      EndValue();
      EndCall();
    } else {
      AddValue(piece.text);
    }
  }

  void InLiteral(const TagPiece& piece) {
    if (piece.tag == Tag::kEndToolCall) return GiveBack(piece.text);
    collected += piece.text;
  }

  void Take(const TagPiece& piece) {
    switch (state) {
      case State::kReasoning:
        return InReasoning(piece);
      case State::kContent:
        return InContent(piece);
      case State::kName:
        return InName(piece);
      case State::kKey:
        return InKey(piece);
      case State::kBetween:
        return InBetween(piece);
      case State::kValue:
        return InValue(piece);
      case State::kLiteral:
        return InLiteral(piece);
    }
  }

  // The output ended inside a call.
  void CloseCall(bool cut) {
    switch (state) {
      case State::kReasoning:
      case State::kContent:
        return;
      case State::kName:
        if (!cut) EndName("");
        return;  // a name that a limit cut off is dropped
      case State::kLiteral:
        return GiveBack("");
      case State::kValue:
        if (cut) return;
        EndValue();
        return EndCall();
      case State::kKey:
      case State::kBetween:
        if (!cut) EndCall();
    }
  }

  State state;
  const ToolTypes tools;
  const bool tools_active;
  const bool text_or_calls;

  std::string incomplete_character;  // bytes at the end of the input so far
  TagScanner scanner;
  std::vector<Delta> deltas;
  ParsedOutput output;
  bool reasoning_visible = false;
  std::string held_blanks;

  bool call_from_reasoning = false;
  std::string collected;  // name, key, or literal text so far
  bool first_argument = true;
  std::optional<std::string> key;
  std::string value;
  TypeSet value_types;
  bool value_streams = false;
};

OutputParser::OutputParser(Start start, const nlohmann::ordered_json& tools, bool tools_active, bool text_or_calls)
    : impl_(std::make_unique<Impl>(start == Start::kContent ? Impl::State::kContent : Impl::State::kReasoning, tools,
                                   tools_active, text_or_calls)) {}
OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;
OutputParser::~OutputParser() = default;

std::vector<Delta> OutputParser::Push(std::string_view text) {
  std::string rest;
  const std::string complete =
      SanitizeUtf8(impl_->incomplete_character + std::string(text), /*hold_incomplete=*/true, &rest);
  impl_->incomplete_character = std::move(rest);
  for (const TagPiece& piece : impl_->scanner.Push(complete)) impl_->Take(piece);
  return std::exchange(impl_->deltas, {});
}

std::vector<Delta> OutputParser::Finish(bool cut) {
  const std::string rest =
      SanitizeUtf8(std::exchange(impl_->incomplete_character, {}), /*hold_incomplete=*/false, nullptr);
  const std::string text = impl_->scanner.Finish() + rest;
  if (!text.empty()) impl_->Take({Tag::kText, text});
  impl_->CloseCall(cut);
  return std::exchange(impl_->deltas, {});
}

const ParsedOutput& OutputParser::result() const { return impl_->output; }

}  // namespace hearth::text
