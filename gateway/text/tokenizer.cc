#include "gateway/text/tokenizer.h"

#include <fstream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "gateway/text/added_token_finder.h"
#include "gateway/text/byte_pair_encoder.h"
#include "gateway/text/detokenizer.h"
#include "gateway/text/pre_tokenizer.h"
#include "gateway/text/tokenizer_definition.h"

namespace hearth::text {

struct Tokenizer::Impl {
  Impl(TokenizerDefinition d, PreTokenizer p)
      : definition(std::move(d)), pre_tokenizer(std::move(p)), encoder(definition), finder(definition.added) {
    for (const AddedToken& token : definition.added) added_by_id.emplace(token.id, &token);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void EncodePlain(std::string_view text, std::vector<int32_t>& ids) const {
    BytePairEncoder::Scratch scratch;
    for (const std::string_view piece : pre_tokenizer.Split(text)) encoder.Encode(piece, scratch, ids);
  }

  const AddedToken* Added(int32_t id) const {
    const auto it = added_by_id.find(id);
    return it == added_by_id.end() ? nullptr : it->second;
  }

  TokenizerDefinition definition;
  PreTokenizer pre_tokenizer;
  BytePairEncoder encoder;
  AddedTokenFinder finder;
  std::unordered_map<int32_t, const AddedToken*> added_by_id;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(path, ": cannot be opened");
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad() || content.bad()) return InvalidArgument(path, ": cannot be read");
  const std::string text = std::move(content).str();
  Result<Tokenizer> tokenizer = FromJson(text);
  if (!tokenizer.ok()) return Status(tokenizer.status().code(), StrCat(path, ": ", tokenizer.status().message()));
  return tokenizer;
}

Result<Tokenizer> Tokenizer::FromJson(std::string_view json_text) {
  Result<TokenizerDefinition> definition = ParseTokenizerDefinition(json_text);
  if (!definition.ok()) return definition.status();
  Result<PreTokenizer> pre_tokenizer = PreTokenizer::Make(definition->expression);
  if (!pre_tokenizer.ok()) return pre_tokenizer.status();
  return Tokenizer(std::make_unique<Impl>(*std::move(definition), *std::move(pre_tokenizer)));
}

std::vector<int32_t> Tokenizer::Encode(std::string_view text) const {
  const Segment segment{std::string(text), /*is_markup=*/true};
  return EncodeSegments({&segment, 1});
}

std::vector<int32_t> Tokenizer::EncodeContent(std::string_view text) const {
  const Segment segment{std::string(text), /*is_markup=*/false};
  return EncodeSegments({&segment, 1});
}

std::vector<int32_t> Tokenizer::EncodeSegments(std::span<const Segment> segments) const {
  std::vector<int32_t> ids;
  // Text between two added tokens is cut into pieces as a whole: a border between segments cuts no piece.
  std::string plain;
  const auto flush = [&] {
    if (!IsValidUtf8(plain)) plain = SanitizeUtf8(plain, /*hold_incomplete=*/false, nullptr);
    impl_->EncodePlain(plain, ids);
    plain.clear();
  };
  for (const Segment& segment : segments) {
    size_t done = 0;
    while (segment.is_markup) {
      const auto found = impl_->finder.Next(segment.text, done);
      if (!found) break;
      plain.append(segment.text, done, found->begin - done);
      flush();
      ids.push_back(found->token->id);
      done = found->begin + found->token->content.size();
    }
    plain.append(segment.text, done);
  }
  flush();
  return ids;
}

std::string_view Tokenizer::TokenBytes(int32_t id) const {
  const auto& all = impl_->definition.token_bytes;
  return id < 0 || static_cast<size_t>(id) >= all.size() ? std::string_view() : std::string_view(all[id]);
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!skip_special || !IsSpecial(id)) bytes += TokenBytes(id);
  }
  return SanitizeUtf8(bytes, /*hold_incomplete=*/false, nullptr);
}

std::optional<int32_t> Tokenizer::TokenId(std::string_view added_token_text) const {
  for (const AddedToken& token : impl_->definition.added) {
    if (token.content == added_token_text) return token.id;
  }
  return std::nullopt;
}

bool Tokenizer::IsAdded(int32_t id) const { return impl_->Added(id) != nullptr; }

bool Tokenizer::IsSpecial(int32_t id) const {
  const AddedToken* token = impl_->Added(id);
  return token && token->special;
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(impl_->definition.token_bytes.size()); }

const std::vector<Tokenizer::AddedToken>& Tokenizer::added_tokens() const { return impl_->definition.added; }

}  // namespace hearth::text
