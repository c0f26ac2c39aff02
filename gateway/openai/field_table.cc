#include "gateway/openai/field_table.h"

#include <algorithm>

#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

using enum Treatment;

constexpr Field kChatFields[] = {
    {"messages", kHonoured, "1 to 4,096 system, developer, user, assistant, tool and function messages; text only"},
    {"model", kHonoured, "must be a name that is served; absent takes the served model"},
    {"stream", kHonoured, "server-sent events"},
    {"stream_options", kHonoured, "`include_usage`; `include_obfuscation` only as false; needs `stream`"},
    {"max_tokens", kHonoured, "from 1; absent: what the context leaves"},
    {"max_completion_tokens", kHonoured, "the same as `max_tokens`; both must agree"},
    {"temperature", kHonoured, "0 (greedy) to 2; absent: the model's default"},
    {"top_p", kHonoured, "above 0, to 1; absent: the model's default"},
    {"top_k", kHonoured, "-1 or 0 (off), or from 1; ours"},
    {"min_p", kHonoured, "0 to 1; ours"},
    {"seed", kHonoured, "any 64-bit whole number; choice i uses seed + i"},
    {"stop", kHonoured, "a string of 1 to 1,024 bytes, or up to 4; searched in `content` only, not in reasoning or tool calls"},
    {"logprobs", kHonoured, "log-probabilities of the sampled tokens"},
    {"top_logprobs", kHonoured, "0 to 20; needs `logprobs`"},
    {"n", kHonoured, "1 to 8 choices"},
    {"presence_penalty", kHonoured, "-2 to 2"},
    {"frequency_penalty", kHonoured, "-2 to 2"},
    {"repetition_penalty", kHonoured, "0.01 to 2; ours"},
    {"logit_bias", kHonoured, "token id to -100..100, at most 1024 entries; -100 bans the token"},
    {"tools", kHonoured, "up to 512 functions of different names; `strict` enforces the parameters' schema, see below"},
    {"tool_choice", kHonoured, "`auto`, `none`, `required`, a named function, or `allowed_tools`"},
    {"parallel_tool_calls", kHonoured, "false: at most one call, which ends the answer"},
    {"reasoning_effort", kHonoured, "none, minimal, low, medium, high, xhigh or max; none beside thinking that is switched on is refused"},
    {"chat_template_kwargs", kHonoured,
     "`reasoning_effort`, `clear_thinking`, `enable_thinking`, `thinking`; the request's own fields win; ours"},
    {"enable_thinking", kHonoured, "false closes the thinking block at once; ours"},
    {"thinking", kHonoured, "`{\"type\": \"enabled\" | \"disabled\"}` or a truth value; ours"},
    {"max_thinking_tokens", kHonoured, "from 0: closes the thinking block after so many tokens; ours"},
    {"clear_thinking", kHonoured, "true drops the reasoning of earlier turns from the prompt; ours"},
    {"ignore_eos", kHonoured, "true generates to the length limit; ours"},
    {"response_format", kHonoured,
     "`text`, `json_object` or `json_schema`, enforced; see below. Beside tools the answer is calls or this"},
    {"guided_regex", kHonoured, "the answer matches this expression as a whole; see below; ours"},
    {"guided_choice", kHonoured, "the answer is one of these strings, 1 to 1024; ours"},
    {"user", kPassive, "picks the worker where several serve", "string"},
    {"metadata", kPassive, "checked, not used", "object"},
    {"safety_identifier", kPassive, "checked, not used", "string"},
    {"prompt_cache_key", kPassive, "picks the worker where several serve, before `user`", "string"},
    {"service_tier", kOnly, "there is one tier", R"(["auto","default"])"},
    {"store", kOnly, "nothing is stored", "[false]"},
    {"modalities", kOnly, "text only", R"([["text"]])"},
    {"verbosity", kOnly, "the model has no such control", R"(["medium"])"},
    {"continue_final_message", kOnly, "an assistant message is not continued", "[false]"},
    {"add_generation_prompt", kOnly, "an answer is always opened", "[true]"},
    {"functions", kRefused, "deprecated by its successor; use `tools`"},
    {"function_call", kRefused, "deprecated by its successor; use `tool_choice`"},
    {"audio", kRefused, "text only"},
    {"prediction", kRefused, "predicted outputs are not offered"},
    {"web_search_options", kRefused, "there is no web search"},
    {"prompt_cache_retention", kRefused, "there is no prompt cache to configure"},
    {"moderation", kRefused, "there is no moderation"},
};

constexpr Field kCompletionFields[] = {
    {"prompt", kHonoured,
     "a string, a list of strings, token ids, or a list of lists of token ids; at most 64 prompts"},
    {"model", kHonoured, "must be a name that is served; absent takes the served model"},
    {"stream", kHonoured, "server-sent events"},
    {"stream_options", kHonoured, "`include_usage`; `include_obfuscation` only as false; needs `stream`"},
    {"max_tokens", kHonoured, "from 1, with `echo` from 0; absent: what the context leaves"},
    {"temperature", kHonoured, "0 (greedy) to 2; absent: the model's default"},
    {"top_p", kHonoured, "above 0, to 1; absent: the model's default"},
    {"top_k", kHonoured, "-1 or 0 (off), or from 1; ours"},
    {"min_p", kHonoured, "0 to 1; ours"},
    {"seed", kHonoured, "any 64-bit whole number; choice i uses seed + i"},
    {"stop", kHonoured, "a string of 1 to 1,024 bytes, or up to 4"},
    {"logprobs", kHonoured, "0 to 20 most likely tokens; the sampled one is listed in any case"},
    {"echo", kHonoured, "the prompt before the completion, with its log-probabilities when asked"},
    {"n", kHonoured, "1 to 8 choices a prompt, at most 64 in all"},
    {"presence_penalty", kHonoured, "-2 to 2"},
    {"frequency_penalty", kHonoured, "-2 to 2"},
    {"repetition_penalty", kHonoured, "0.01 to 2; ours"},
    {"logit_bias", kHonoured, "token id to -100..100, at most 1024 entries; -100 bans the token"},
    {"ignore_eos", kHonoured, "true generates to the length limit; ours"},
    {"response_format", kHonoured, "`text`, `json_object` or `json_schema`, enforced; see below; ours"},
    {"guided_regex", kHonoured, "the completion matches this expression as a whole; see below; ours"},
    {"guided_choice", kHonoured, "the completion is one of these strings, 1 to 1024; ours"},
    {"user", kPassive, "picks the worker where several serve", "string"},
    {"best_of", kOnly, "every choice is returned", "[1]"},
    {"suffix", kRefused, "text is not inserted in the middle"},
};

const Field* Find(std::span<const Field> fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return name == f.name; });
  return found == fields.end() ? nullptr : &*found;
}

Status CheckField(const Field& field, const OrderedJson& value) {
  const std::string name = field.name;
  switch (field.treatment) {
    case kHonoured:
      return Status::Ok();
    case kRefused:
      return InvalidArgument(name, " is not offered: ", field.note).WithParam(name);
    case kPassive: {
      const bool string = std::string_view(field.only) == "string";
      if (string ? value.is_string() : value.is_object()) return Status::Ok();
      return InvalidArgument(name, " is ", Shown(value), ", expected ", string ? "a string" : "an object")
          .WithParam(name);
    }
    case kOnly: {
      const OrderedJson accepted = OrderedJson::parse(field.only);
      if (std::find(accepted.begin(), accepted.end(), value) != accepted.end()) return Status::Ok();
      std::string list;
      for (const OrderedJson& one : accepted) list += StrCat(list.empty() ? "" : " or ", text::JsonText(one));
      return InvalidArgument(name, " must be ", list, ": ", field.note).WithParam(name);
    }
  }
  return Status::Ok();
}

const char* Word(Treatment treatment) {
  switch (treatment) {
    case kHonoured:
      return "honoured";
    case kPassive:
      return "checked";
    case kOnly:
      return "only";
    case kRefused:
      return "refused";
  }
  return "";
}

}  // namespace

std::span<const Field> ChatFields() { return kChatFields; }
std::span<const Field> CompletionFields() { return kCompletionFields; }

Status CheckFields(const OrderedJson& body, std::span<const Field> fields, bool strict,
                   std::vector<std::string>& unknown) {
  for (const auto& [name, value] : body.items()) {
    const Field* field = Find(fields, name);
    if (value.is_null()) continue;  // counts as absent, whatever its name
    if (field == nullptr) {
      if (strict) return InvalidArgument(name, " is not a field of this request").WithParam(name);
      unknown.push_back(name);
    } else {
      if (Status status = CheckField(*field, value); !status.ok()) return status;
    }
  }
  return Status::Ok();
}

std::string FieldsMarkdown(std::span<const Field> fields) {
  std::string out = "| field | | |\n|---|---|---|\n";
  for (const Field& field : fields) {
    std::string word = Word(field.treatment);
    if (field.treatment == kOnly) {
      word += " ";
      bool first = true;
      for (const OrderedJson& one : OrderedJson::parse(field.only)) {
        word += StrCat(std::exchange(first, false) ? "`" : ", `", text::JsonText(one), "`");
      }
    }
    std::string note = field.note;
    for (size_t at = 0; (at = note.find('|', at)) != std::string::npos; at += 2) note.insert(at, "\\");
    out += StrCat("| `", field.name, "` | ", word, " | ", note, " |\n");
  }
  return out;
}

}  // namespace hearth::openai
