#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/text/output_parser.h"

namespace hearth::openai {

using OrderedJson = nlohmann::ordered_json;

// What every object of one response has in common.
struct ResponseHead {
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string fingerprint;
};

// The `delta` object of a chunk. `call_id` is the id of the call that a kCallStart opens.
OrderedJson DeltaJson(const text::Delta& delta, const std::string& call_id);

// A chat.completion.chunk with one choice; null `logprobs` and empty `finish_reason` become null.
OrderedJson ChatChunk(const ResponseHead& head, size_t index, OrderedJson delta, OrderedJson logprobs,
                      const std::string& finish_reason);
// The chunk without choices that carries the usage.
OrderedJson ChatUsageChunk(const ResponseHead& head, OrderedJson usage);

// A message put together from the same deltas that are streamed.
class MessageCollector {
 public:
  void Add(const text::Delta& delta, const std::string& call_id);
  OrderedJson Message() const;

 private:
  struct Call {
    std::string id, name, arguments;
  };
  std::string reasoning_, content_;
  std::vector<Call> calls_;
};

OrderedJson ChatChoice(size_t index, OrderedJson message, OrderedJson logprobs, const std::string& finish_reason);
OrderedJson ChatCompletion(const ResponseHead& head, OrderedJson choices, OrderedJson usage);

// Likewise for plain completions; chunks and whole responses are of one kind.
OrderedJson CompletionChoice(size_t index, const std::string& text, OrderedJson logprobs,
                             const std::string& finish_reason);
OrderedJson TextCompletion(const ResponseHead& head, OrderedJson choices);

}  // namespace hearth::openai
