#include "common/text/tokenizer_file.h"

#include <limits>

namespace hearth::text {
namespace {

using nlohmann::json;

// Receives the parser's events. A document tree of the whole file would cost a second and hundreds of megabytes, so
// vocabulary and merges go straight into their arrays and only the small remainder becomes a tree.
class Reader : public nlohmann::json_sax<json> {
 public:
  explicit Reader(TokenizerFile& file) : file_(file) {}
  const std::string& error() const { return error_; }

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_float(number_float_t value, const string_t&) override { return Value(value); }
  bool binary(binary_t&) override { return Fail("unexpected binary value"); }
  bool number_integer(number_integer_t value) override {
    if (place_ == Place::kVocab) return Fail(StrCat("model.vocab: id ", value, " of \"", key_, "\" is negative"));
    return Value(value);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kVocab) return Value(value);
    if (value > std::numeric_limits<int32_t>::max()) {
      return Fail(StrCat("model.vocab: id ", value, " of \"", key_, "\" is too large"));
    }
    file_.vocab.push_back({std::move(key_), static_cast<int32_t>(value)});
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMerges) return JoinedMerge(value);
    if (place_ != Place::kMergePair) return Value(std::move(value));
    if (pair_size_ == 2) return Fail("model.merges: an entry has more than two parts");
    (pair_size_++ == 0 ? pair_.first : pair_.second) = std::move(value);
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kRest && IsModelMember("vocab")) {
      if (file_.has_vocab) return Fail("model.vocab: given twice");
      place_ = Place::kVocab;
      file_.has_vocab = true;
      return true;
    }
    if (place_ != Place::kRest) return WrongShape();
    return Open(json::object());
  }

  bool end_object() override {
    if (place_ == Place::kVocab) {
      place_ = Place::kRest;
      return true;
    }
    return Close();
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::kMerges) {
      place_ = Place::kMergePair;
      pair_size_ = 0;
      return true;
    }
    if (place_ == Place::kRest && IsModelMember("merges")) {
      if (file_.has_merges) return Fail("model.merges: given twice");
      place_ = Place::kMerges;
      file_.has_merges = true;
      return true;
    }
    if (place_ != Place::kRest) return WrongShape();
    return Open(json::array());
  }

  bool end_array() override {
    if (place_ == Place::kMergePair) {
      if (pair_size_ != 2) return Fail("model.merges: an entry has fewer than two parts");
      file_.merges.push_back(std::move(pair_));
      place_ = Place::kMerges;
      return true;
    }
    if (place_ == Place::kMerges) {
      place_ = Place::kRest;
      return true;
    }
    return Close();
  }

  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return Fail(StrCat("not valid JSON at byte ", position));
  }

 private:
  enum class Place { kRest, kVocab, kMerges, kMergePair };
  static constexpr size_t kMaxDepth = 32;

  bool Fail(std::string text) {
    error_ = std::move(text);
    return false;
  }

  bool WrongShape() {
    return Fail(place_ == Place::kVocab ? StrCat("model.vocab: the id of \"", key_, "\" is not a whole number")
                                        : "model.merges: an entry is neither \"a b\" nor [\"a\", \"b\"]");
  }

  bool IsModelMember(std::string_view name) const { return open_.size() == 2 && in_model_ && key_ == name; }

  // The place in the tree that the next value goes to.
  json& Slot() {
    if (open_.empty()) return file_.rest;
    json& parent = *open_.back();
    if (parent.is_object()) return parent[key_];
    parent.push_back(nullptr);
    return parent.back();
  }

  bool Value(json value) {
    if (place_ != Place::kRest) return WrongShape();
    Slot() = std::move(value);
    return true;
  }

  bool Open(json container) {
    if (open_.size() == kMaxDepth) return Fail("nested too deeply");
    if (open_.size() == 1) in_model_ = key_ == "model";
    json& slot = Slot();
    slot = std::move(container);
    open_.push_back(&slot);
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  bool JoinedMerge(const std::string& text) {
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      return Fail(StrCat("model.merges: \"", text, "\" is not two parts with one blank between"));
    }
    file_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    return true;
  }

  TokenizerFile& file_;
  std::string error_;
  Place place_ = Place::kRest;
  std::string key_;
  bool in_model_ = false;
  std::vector<json*> open_;  // a container's children do not move while it is open: only its last child grows
  std::pair<std::string, std::string> pair_;
  int pair_size_ = 0;
};

}  // namespace

Result<TokenizerFile> ReadTokenizerFile(std::string_view text) {
  TokenizerFile file;
  Reader reader(file);
  if (!json::sax_parse(text, &reader)) return InvalidArgument(reader.error());
  if (!file.rest.is_object()) return InvalidArgument("the document is not an object");
  return file;
}

}  // namespace hearth::text
