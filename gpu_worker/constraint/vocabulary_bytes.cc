#include "gpu_worker/constraint/vocabulary_bytes.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "common/text/byte_alphabet.h"
#include "common/text/tokenizer_file.h"

namespace hearth {
namespace {

// More bytes than any token has; keeps a forged file from making tries deep.
constexpr size_t kMaxTokenBytes = 4096;

Status BadId(const std::string& content, int64_t id, int32_t vocab_size) {
  return InvalidArgument("tokenizer.json: id ", id, " of \"", content, "\" is outside the model's ", vocab_size,
                         " ids");
}

}  // namespace

Result<VocabularyBytes> VocabularyBytes::Parse(std::string_view json_text, int32_t vocab_size) {
  Result<text::TokenizerFile> file = text::ReadTokenizerFile(json_text);
  if (!file.ok()) return InvalidArgument("tokenizer.json: ", file.status().message());
  VocabularyBytes vocabulary;
  vocabulary.ordinary.resize(static_cast<size_t>(vocab_size));
  std::vector<bool> is_added(static_cast<size_t>(vocab_size));
  if (const auto list = file->rest.find("added_tokens"); list != file->rest.end()) {
    if (!list->is_array()) return InvalidArgument("tokenizer.json: added_tokens is not an array");
    for (const nlohmann::json& entry : *list) {
      const auto id = entry.is_object() ? entry.find("id") : entry.end();
      if (!entry.is_object() || id == entry.end() || !id->is_number_integer()) {
        return InvalidArgument("tokenizer.json: an entry of added_tokens has no id");
      }
      const int64_t value = id->get<int64_t>();
      if (value < 0 || value >= vocab_size) return BadId("an added token", value, vocab_size);
      if (is_added[static_cast<size_t>(value)]) continue;
      is_added[static_cast<size_t>(value)] = true;
      vocabulary.added.push_back(static_cast<int32_t>(value));
    }
  }
  std::sort(vocabulary.added.begin(), vocabulary.added.end());
  for (const auto& [symbols, id] : file->vocab) {
    if (id >= vocab_size) return BadId(symbols, id, vocab_size);
    if (is_added[static_cast<size_t>(id)]) continue;
    std::optional<std::string> bytes = text::BytesFromSymbols(symbols);
    if (!bytes || bytes->empty() || bytes->size() > kMaxTokenBytes) {
      return InvalidArgument("tokenizer.json: token ", id, " is not a piece of a byte-level vocabulary");
    }
    vocabulary.ordinary[static_cast<size_t>(id)] = *std::move(bytes);
  }
  return vocabulary;
}

Result<VocabularyBytes> VocabularyBytes::Read(const std::string& model_dir, int32_t vocab_size) {
  const std::string path = model_dir + "/tokenizer.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound(path, " is not there or cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return Parse(text, vocab_size);
}

}  // namespace hearth
