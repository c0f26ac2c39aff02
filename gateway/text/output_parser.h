#pragma once

#include <memory>

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace hearth::text {

// One step of what a client sees, in the order in which it becomes known.
struct Delta {
  enum class Kind {
    kReasoning,      // text
    kContent,        // text
    kCallStart,      // call_index, text = function name
    kCallArguments,  // call_index, text = next piece of the arguments' JSON text
  };
  Kind kind;
  std::string text;
  int call_index = -1;
};

struct ParsedOutput {
  std::string reasoning;  // empty means null
  std::string content;    // empty means null; trimmed
  struct Call {
    std::string name;
    std::string arguments;  // JSON text as streamed
  };
  std::vector<Call> calls;
};

// Takes model output apart into reasoning, content and tool calls while it streams (chat format, sections 7 to 9).
// The sum of all deltas equals the whole result for every way to cut the text.
class OutputParser {
 public:
  enum class Start { kReasoning, kContent };
  // `tools` is the request's array (or null). With `tools_active` false those of calls are text. With `text_or_calls`
  // the answer is either: outside of the reasoning those of thinking are text, and those of calls once content has
  // begun.
  OutputParser(Start start, const nlohmann::ordered_json& tools, bool tools_active, bool text_or_calls = false);
  OutputParser(OutputParser&&) noexcept;
  OutputParser& operator=(OutputParser&&) noexcept;
  ~OutputParser();

  std::vector<Delta> Push(std::string_view text);
  // `cut` says that a length limit ended the output, otherwise a stop token or stop string did.
  std::vector<Delta> Finish(bool cut);

  // Everything emitted so far, joined.
  const ParsedOutput& result() const;
  bool has_calls() const { return !result().calls.empty(); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::text
