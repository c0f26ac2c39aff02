#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "gateway/text/json_text.h"

namespace hearth::grammar {

// Ids of the added tokens that thinking and calls are written with.
struct MarkupIds {
  int32_t think_end, call, call_end, key, key_end, value, value_end;
};

// What the calls of an answer must be like.
struct ToolRules {
  text::OrderedJson tools;        // as in a checked request
  bool must_call = false;         // the answer is calls and nothing else
  std::vector<std::string> only;  // the functions that may be called; none: all
  bool parallel = true;           // more than one call
  bool in_reasoning = false;      // the answer begins inside the thinking block
  // An automaton in wire form: what the answer is when it calls nothing, not a word beside it. Null: free text.
  std::shared_ptr<const std::string> text_form;
};

// Whether the rules ask for more than free output.
bool NeedsGrammar(const ToolRules& rules);

// The automaton, in wire form, that a whole answer obeys: thinking, text and calls. Names are those of the tools. No
// call begins inside the thinking block. Arguments of a function that is `strict` follow its schema, in the schema's
// order; of others the keys are the declared properties where there are any, required ones do not lack, and the values
// are free. kInvalidArgument names the tool.
Result<std::string> CompileTools(const ToolRules& rules, const MarkupIds& ids);

}  // namespace hearth::grammar
