#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gateway/text/json_text.h"
#include "gateway/text/output_parser.h"

namespace hearth::text {

// A parse as one comparable text: "reasoning|content|name(arguments)..".
inline std::string Shown(const ParsedOutput& output) {
  std::string text = output.reasoning + "|" + output.content + "|";
  for (const auto& call : output.calls) text += call.name + "(" + call.arguments + ")";
  return text;
}

// Pushes the pieces and checks on the way that the deltas add up to the result, in order.
inline ParsedOutput ParsePieces(OutputParser::Start start, const OrderedJson& tools, bool tools_active, bool cut,
                                const std::vector<std::string>& pieces) {
  OutputParser parser(start, tools, tools_active);
  ParsedOutput sum;
  const auto add = [&](const std::vector<Delta>& deltas) {
    for (const Delta& delta : deltas) {
      EXPECT_FALSE(delta.text.empty());
      const int last_call = static_cast<int>(sum.calls.size()) - 1;
      switch (delta.kind) {
        case Delta::Kind::kReasoning:
          sum.reasoning += delta.text;
          break;
        case Delta::Kind::kContent:
          sum.content += delta.text;
          break;
        case Delta::Kind::kCallStart:
          EXPECT_EQ(delta.call_index, last_call + 1);
          sum.calls.push_back({delta.text, ""});
          break;
        case Delta::Kind::kCallArguments:
          ASSERT_EQ(delta.call_index, last_call);
          sum.calls.back().arguments += delta.text;
      }
    }
  };
  for (const auto& piece : pieces) add(parser.Push(piece));
  add(parser.Finish(cut));
  EXPECT_EQ(Shown(sum), Shown(parser.result()));
  return parser.result();
}

inline std::vector<std::string> Bytes(const std::string& text) {
  std::vector<std::string> out;
  for (const char c : text) out.emplace_back(1, c);
  return out;
}

}  // namespace hearth::text
