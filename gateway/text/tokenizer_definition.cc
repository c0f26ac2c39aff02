#include "gateway/text/tokenizer_definition.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <utility>

#include "common/text/byte_alphabet.h"
#include "common/text/tokenizer_file.h"

namespace hearth::text {
namespace {

using nlohmann::json;

// Ids are positions of an array; a forged file must not make it huge.
constexpr int32_t kMaxId = 1 << 24;

std::string Shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 120) text = text.substr(0, 117) + "...";
  return text;
}

Status Unsupported(std::string_view key, const json& value, std::string_view expected) {
  return InvalidArgument(key, " is ", Shown(value), ", implemented is ", expected);
}

const json& Member(const json& object, const char* key) {
  static const json null;
  const auto it = object.find(key);
  return it == object.end() ? null : *it;
}

bool IsOff(const json& value) {
  return value.is_null() || value == false || value == "" || (value.is_number() && value == 0);
}

// Every member of `object` must be one of `known`: a setting nobody reads could change ids.
Status OnlyKnown(const std::string& place, const json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Unsupported(place + key, value, "no such key");
    }
  }
  return Status::Ok();
}

Status CheckModel(const json& model, TokenizerDefinition& out) {
  if (!model.is_object()) return Unsupported("model", model, "a BPE model");
  if (Member(model, "type") != "BPE") return Unsupported("model.type", Member(model, "type"), "\"BPE\"");
  for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"}) {
    if (!IsOff(Member(model, key))) return Unsupported(StrCat("model.", key), Member(model, key), "off");
  }
  const json& ignore_merges = Member(model, "ignore_merges");
  if (!ignore_merges.is_null() && !ignore_merges.is_boolean()) {
    return Unsupported("model.ignore_merges", ignore_merges, "true or false");
  }
  out.ignore_merges = ignore_merges == true;
  // fuse_unk says how unknown tokens are joined; without unk_token it has no effect.
  return OnlyKnown("model.", model,
                   {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback",
                    "ignore_merges", "fuse_unk"});
}

Status CheckPreTokenizer(const json& pre, TokenizerDefinition& out) {
  constexpr std::string_view kWanted = "a Sequence of Split and ByteLevel";
  const json& steps = pre.is_object() ? Member(pre, "pretokenizers") : pre;
  if (!pre.is_object() || Member(pre, "type") != "Sequence" || !steps.is_array() || steps.size() != 2 ||
      !steps[0].is_object() || !steps[1].is_object()) {
    return Unsupported("pre_tokenizer", pre, kWanted);
  }
  if (Status s = OnlyKnown("pre_tokenizer.", pre, {"type", "pretokenizers"}); !s.ok()) return s;
  const json& split = steps[0];
  const json& bytes = steps[1];
  if (Member(split, "type") != "Split") return Unsupported("pre_tokenizer.pretokenizers[0]", split, "Split");
  if (Member(bytes, "type") != "ByteLevel") return Unsupported("pre_tokenizer.pretokenizers[1]", bytes, "ByteLevel");
  const json& pattern = Member(split, "pattern");
  if (!pattern.is_object() || pattern.size() != 1 || !Member(pattern, "Regex").is_string()) {
    return Unsupported("pre_tokenizer Split.pattern", pattern, "one Regex");
  }
  if (Member(split, "behavior") != "Isolated") {
    return Unsupported("pre_tokenizer Split.behavior", Member(split, "behavior"), "\"Isolated\"");
  }
  if (!IsOff(Member(split, "invert")))
    return Unsupported("pre_tokenizer Split.invert", Member(split, "invert"), "false");
  for (const char* key : {"add_prefix_space", "use_regex"}) {
    if (Member(bytes, key) != false)
      return Unsupported(StrCat("pre_tokenizer ByteLevel.", key), Member(bytes, key), "false");
  }
  if (Status s = OnlyKnown("pre_tokenizer Split.", split, {"type", "pattern", "behavior", "invert"}); !s.ok()) return s;
  out.expression = pattern["Regex"].get<std::string>();
  // trim_offsets moves reported positions only.
  return OnlyKnown("pre_tokenizer ByteLevel.", bytes, {"type", "add_prefix_space", "use_regex", "trim_offsets"});
}

Status CheckTopLevel(const json& rest) {
  const json& version = Member(rest, "version");
  if (!version.is_null() && version != "1.0") return Unsupported("version", version, "\"1.0\"");
  for (const char* key : {"normalizer", "truncation", "padding"}) {
    if (!Member(rest, key).is_null()) return Unsupported(key, Member(rest, key), "null");
  }
  // A byte-level post-processor moves reported positions only.
  const json& post = Member(rest, "post_processor");
  if (!post.is_null() && (!post.is_object() || Member(post, "type") != "ByteLevel")) {
    return Unsupported("post_processor", post, "null or ByteLevel");
  }
  const json& decoder = Member(rest, "decoder");
  if (!decoder.is_object() || Member(decoder, "type") != "ByteLevel")
    return Unsupported("decoder", decoder, "ByteLevel");
  return OnlyKnown("", rest,
                   {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                    "decoder", "model"});
}

using IdOf = std::unordered_map<std::string_view, int32_t>;

Status TakeVocab(const TokenizerFile& file, TokenizerDefinition& out, IdOf& id_of) {
  id_of.reserve(file.vocab.size());
  std::vector<bool> single_byte(256);
  for (const auto& entry : file.vocab) {
    if (entry.id >= kMaxId) return InvalidArgument("model.vocab: id ", entry.id, " is too large");
    std::optional<std::string> bytes = BytesFromSymbols(entry.symbols);
    if (!bytes || bytes->empty()) {
      return InvalidArgument("model.vocab: \"", entry.symbols, "\" is not written in the byte-level alphabet");
    }
    if (!id_of.emplace(entry.symbols, entry.id).second) {
      return InvalidArgument("model.vocab: \"", entry.symbols, "\" stands twice");
    }
    if (static_cast<size_t>(entry.id) >= out.token_bytes.size()) out.token_bytes.resize(entry.id + 1);
    if (!out.token_bytes[entry.id].empty()) return InvalidArgument("model.vocab: id ", entry.id, " is used twice");
    if (bytes->size() == 1) single_byte[static_cast<unsigned char>((*bytes)[0])] = true;
    out.token_bytes[entry.id] = *std::move(bytes);
  }
  const auto missing = std::find(single_byte.begin(), single_byte.end(), false);
  if (missing != single_byte.end()) {
    return InvalidArgument("model.vocab: no entry for the single byte ", missing - single_byte.begin());
  }
  out.ordinary_end = static_cast<int32_t>(out.token_bytes.size());
  return Status::Ok();
}

Status TakeMerges(const TokenizerFile& file, const IdOf& id_of, TokenizerDefinition& out) {
  out.merges.reserve(file.merges.size());
  std::string joined;
  for (const auto& [left, right] : file.merges) {
    joined.assign(left).append(right);
    const auto l = id_of.find(left), r = id_of.find(right), result = id_of.find(joined);
    if (l == id_of.end() || r == id_of.end() || result == id_of.end()) {
      return InvalidArgument("model.merges: \"", left, "\" and \"", right, "\" or their join is not in model.vocab");
    }
    out.merges.push_back({l->second, r->second, result->second});
  }
  return Status::Ok();
}

Status TakeAddedToken(const json& token, const IdOf& id_of, TokenizerDefinition& out) {
  if (!token.is_object()) return Unsupported("added_tokens entry", token, "an object");
  const json& id = Member(token, "id");
  const json& content = Member(token, "content");
  const json& special = Member(token, "special");
  if (!id.is_number_unsigned() || id.get<uint64_t>() >= kMaxId)
    return Unsupported("added_tokens id", id, "a small integer");
  if (!content.is_string() || content == "") return Unsupported("added_tokens content", content, "non-empty text");
  if (!special.is_boolean()) return Unsupported("added_tokens special", special, "true or false");
  for (const char* key : {"single_word", "lstrip", "rstrip", "normalized"}) {
    // Without a normalizer `normalized` only decides which of two passes finds a token; one pass is implemented.
    if (!IsOff(Member(token, key)))
      return Unsupported(StrCat("added_tokens ", key, " of ", Shown(content)), true, "false");
  }
  if (Status s = OnlyKnown("added_tokens ", token,
                           {"id", "content", "special", "single_word", "lstrip", "rstrip", "normalized"});
      !s.ok()) {
    return s;
  }
  const auto number = id.get<int32_t>();
  auto text = content.get<std::string>();
  if (id_of.contains(text)) return InvalidArgument("added_tokens: ", Shown(content), " is in model.vocab too");
  if (static_cast<size_t>(number) >= out.token_bytes.size()) out.token_bytes.resize(number + 1);
  if (!out.token_bytes[number].empty()) return InvalidArgument("added_tokens: id ", number, " is used twice");
  out.token_bytes[number] = text;
  out.added.push_back({number, std::move(text), special.get<bool>()});
  return Status::Ok();
}

Status TakeAddedTokens(const json& tokens, const IdOf& id_of, TokenizerDefinition& out) {
  if (tokens.is_null()) return Status::Ok();
  if (!tokens.is_array()) return Unsupported("added_tokens", tokens, "a list");
  for (const json& token : tokens) {
    if (Status s = TakeAddedToken(token, id_of, out); !s.ok()) return s;
  }
  std::vector<std::string_view> texts;
  for (const auto& token : out.added) texts.push_back(token.content);
  std::sort(texts.begin(), texts.end());
  const auto twice = std::adjacent_find(texts.begin(), texts.end());
  if (twice != texts.end()) return InvalidArgument("added_tokens: \"", *twice, "\" stands twice");
  return Status::Ok();
}

}  // namespace

Result<TokenizerDefinition> ParseTokenizerDefinition(std::string_view json_text) {
  const Result<TokenizerFile> file = ReadTokenizerFile(json_text);
  if (!file.ok()) return file.status();
  if (!file->has_vocab) return InvalidArgument("model.vocab is missing or not an object");
  if (!file->has_merges) return InvalidArgument("model.merges is missing or not a list");
  TokenizerDefinition out;
  IdOf id_of;
  Status status = CheckTopLevel(file->rest);
  if (status.ok()) status = CheckModel(Member(file->rest, "model"), out);
  if (status.ok()) status = CheckPreTokenizer(Member(file->rest, "pre_tokenizer"), out);
  if (status.ok()) status = TakeVocab(*file, out, id_of);
  if (status.ok()) status = TakeMerges(*file, id_of, out);
  if (status.ok()) status = TakeAddedTokens(Member(file->rest, "added_tokens"), id_of, out);
  if (!status.ok()) return status;
  return out;
}

}  // namespace hearth::text
