#include "gateway/serving/token_logprobs.h"

#include "gateway/text/utf8.h"

namespace hearth::serving {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson Entry(const text::Tokenizer& tokenizer, int32_t id, float logprob) {
  OrderedJson bytes = OrderedJson::array();
  for (const char byte : tokenizer.TokenBytes(id)) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", TokenText(tokenizer, id)}, {"logprob", logprob}, {"bytes", std::move(bytes)}};
}

size_t CountCharacters(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

}  // namespace

std::string TokenText(const text::Tokenizer& tokenizer, int32_t id) {
  return tokenizer.Decode(std::span(&id, 1), /*skip_special=*/false);
}

std::string TokenName(const text::Tokenizer& tokenizer, int32_t id) {
  const std::string bytes(tokenizer.TokenBytes(id));
  if (text::ValidUtf8Bytes(bytes) == bytes.size()) return TokenText(tokenizer, id);
  std::string name = "bytes:";
  for (const unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    name.append("\\x").append({kDigits[byte / 16], kDigits[byte % 16]});
  }
  return name;
}

OrderedJson ChatLogprob(const text::Tokenizer& tokenizer, const engine::Token& token) {
  OrderedJson entry = Entry(tokenizer, token.id, token.logprob.value_or(0));
  OrderedJson top = OrderedJson::array();
  for (const engine::TokenLogprob& one : token.top) top.push_back(Entry(tokenizer, one.id, one.logprob));
  entry["top_logprobs"] = std::move(top);
  return entry;
}

void CompletionLogprobs::Add(int32_t id, std::optional<float> logprob, const std::vector<engine::TokenLogprob>& top) {
  if (pending_.is_null()) {
    pending_ = {{"tokens", OrderedJson::array()},
                {"token_logprobs", OrderedJson::array()},
                {"top_logprobs", OrderedJson::array()},
                {"text_offset", OrderedJson::array()}};
  }
  pending_["tokens"].push_back(TokenName(tokenizer_, id));
  pending_["token_logprobs"].push_back(logprob ? OrderedJson(*logprob) : OrderedJson());
  OrderedJson best;
  if (logprob) {
    best = OrderedJson::object();
    for (const engine::TokenLogprob& one : top) best[TokenName(tokenizer_, one.id)] = one.logprob;
    best[TokenName(tokenizer_, id)] = *logprob;  // one more when it is none of them
  }
  pending_["top_logprobs"].push_back(std::move(best));
  pending_["text_offset"].push_back(offset_);
  offset_ += CountCharacters(shown_.Push(id));
}

void CompletionLogprobs::EndPrompt() {
  offset_ += CountCharacters(shown_.Finish());
  shown_ = text::Detokenizer(tokenizer_, /*skip_special=*/true);
}

OrderedJson CompletionLogprobs::Take() { return std::exchange(pending_, OrderedJson()); }

}  // namespace hearth::serving
