#include "gateway/grammar/tool_grammar.h"

#include <algorithm>
#include <optional>

#include "gateway/grammar/free_text.h"
#include "gateway/grammar/tool_arguments.h"
#include "gateway/text/call_body.h"
#include "gateway/text/utf8.h"

namespace hearth::grammar {
namespace {

using text::FindMember;
using text::OrderedJson;

bool IsStrict(const OrderedJson& function) {
  const OrderedJson* strict = FindMember(function, "strict");
  return strict != nullptr && *strict == true;
}

// All calls of one answer as one rule each.
class Compiler {
 public:
  Compiler(const ToolRules& rules, const MarkupIds& ids)
      : rules_(rules), ids_(ids), json_(builder_, JsonPlace::kBetweenTags), arguments_(builder_, json_, ids) {}

  Result<std::string> Compile() {
    for (size_t i = 0; i < rules_.tools.size() && !builder_.full(); ++i) {
      if (Status status = AddTool(i); !status.ok()) return status;
    }
    const PieceRef call = Call();
    const int32_t end = builder_.State(/*end=*/true);
    int32_t start = builder_.Start(0);
    builder_.automaton().except = {ids_.call};
    if (rules_.in_reasoning) {
      builder_.automaton().except.push_back(ids_.think_end);
      const int32_t thought = builder_.State(), begun = builder_.State();
      EmitFreeText(builder_, {.without = {"</think>", "<tool_call>"}, .tokens = true}, start, thought);
      builder_.Emit(Token(ids_.think_end), thought, begun);
      if (!rules_.must_call && !rules_.text_form) builder_.Empty(thought, end);
      start = begun;
    }
    if (rules_.must_call || rules_.text_form) {
      builder_.Emit(Repeat(call, 1, rules_.parallel ? std::nullopt : std::optional<size_t>(1)), start, end);
      if (rules_.text_form) {
        const Result<Automaton> form = Automaton::Parse(*rules_.text_form);
        if (!form.ok()) return Internal("the answer's form: ", form.status().message());
        builder_.Emit(builder_.Include(*form), start, end);
      }
    } else {
      const int32_t said = builder_.State();
      EmitFreeText(builder_, {.without = {"<tool_call>"}, .tokens = true}, start, said);
      builder_.Empty(said, end);
      builder_.Emit(call, said, rules_.parallel ? start : end);
    }
    Result<std::string> bytes = builder_.Finish();
    if (!bytes.ok()) return InvalidArgument("the tools' grammar ", bytes.status().message()).WithParam("tools");
    return bytes;
  }

 private:
  Status AddTool(size_t index) {
    const OrderedJson& function = rules_.tools[index]["function"];
    const std::string place = StrCat("tools[", index, "].function");
    const std::string& name = function["name"].get_ref<const std::string&>();
    if (!rules_.only.empty() && std::find(rules_.only.begin(), rules_.only.end(), name) == rules_.only.end()) {
      return Status::Ok();
    }
    if (!text::IsValidCallName(name)) {
      return InvalidArgument(place, ".name is ", text::JsonText(function["name"]),
                             ", which cannot be written in a call")
          .WithParam(place + ".name");
    }
    const OrderedJson* parameters = FindMember(function, "parameters");
    if (parameters != nullptr && parameters->is_null()) parameters = nullptr;
    const bool strict = IsStrict(function);
    Result<PieceRef> inside =
        strict ? arguments_.Strict(parameters, place + ".parameters") : arguments_.Free(parameters);
    if (!inside.ok()) {
      return InvalidArgument(strict ? "" : place + ".parameters: ", inside.status().message())
          .WithParam(place + ".parameters");
    }
    calls_.emplace_back(name, Sequence({*inside, Token(ids_.call_end)}));
    return Status::Ok();
  }

  PieceRef Call() {
    const int32_t rule = builder_.Reserve("call");
    const int32_t begun = builder_.State(), end = builder_.State(/*end=*/true);
    builder_.Emit(Token(ids_.call), builder_.Start(rule), begun);
    std::vector<Builder::Word> names;
    for (const auto& [name, rest] : calls_) {
      names.push_back({name, builder_.State()});
      builder_.Emit(rest, names.back().to, end);
    }
    builder_.EmitWords(std::move(names), begun);
    return Rule(rule);
  }

  const ToolRules& rules_;
  const MarkupIds ids_;
  Builder builder_;
  JsonRules json_;
  ToolArguments arguments_;
  std::vector<std::pair<std::string, PieceRef>> calls_;  // name, what follows it
};

}  // namespace

bool NeedsGrammar(const ToolRules& rules) {
  if (rules.must_call || rules.text_form || !rules.parallel || !rules.only.empty()) return true;
  return std::any_of(rules.tools.begin(), rules.tools.end(),
                     [](const OrderedJson& tool) { return IsStrict(tool["function"]); });
}

Result<std::string> CompileTools(const ToolRules& rules, const MarkupIds& ids) {
  return Compiler(rules, ids).Compile();
}

}  // namespace hearth::grammar
