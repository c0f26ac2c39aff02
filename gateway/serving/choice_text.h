#pragma once

#include <string>
#include <vector>

#include "gateway/text/detokenizer.h"
#include "gateway/text/output_parser.h"
#include "gateway/text/stop_sequences.h"

namespace hearth::serving {

// One chat answer on its way from tokens to what the client sees. Stop strings are looked for in the content alone:
// reasoning and the arguments of calls pass through. The sum of all deltas does not depend on how tokens come in.
class ChatChoiceText {
 public:
  ChatChoiceText(const text::Tokenizer& tokenizer, text::OutputParser parser, std::vector<std::string> stops);

  std::vector<text::Delta> Push(int32_t token);
  // After the last token; not when stopped().
  std::vector<text::Delta> Finish(bool by_length);
  // A stop string was completed: nothing more comes.
  bool stopped() const { return stops_.stopped(); }
  bool has_calls() const { return has_calls_; }

 private:
  std::vector<text::Delta> Filter(std::vector<text::Delta> deltas);
  void AddContent(std::string text, std::vector<text::Delta>& out);

  text::Detokenizer detokenizer_;
  text::OutputParser parser_;
  text::StopSequences stops_;
  std::string held_blanks_;  // at the end of the content so far: shown only when more comes
  bool has_calls_ = false;
};

// One plain completion.
class PlainChoiceText {
 public:
  PlainChoiceText(const text::Tokenizer& tokenizer, bool skip_special, std::vector<std::string> stops)
      : detokenizer_(tokenizer, skip_special), stops_(std::move(stops)) {}

  std::string Push(int32_t token) { return stops_.Push(detokenizer_.Push(token)); }
  std::string Finish();
  bool stopped() const { return stops_.stopped(); }

 private:
  text::Detokenizer detokenizer_;
  text::StopSequences stops_;
};

}  // namespace hearth::serving
