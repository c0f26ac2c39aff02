#include "gateway/grammar/free_text.h"

#include <map>
#include <set>

namespace hearth::grammar {
namespace {

// The states are the proper beginnings of the forbidden strings: the longest one that the text so far ends with.
class Beginnings {
 public:
  explicit Beginnings(const std::vector<std::string>& forbidden) : forbidden_(forbidden) {
    all_.insert("");
    for (const std::string& word : forbidden) {
      for (size_t size = 1; size < word.size(); ++size) all_.insert(word.substr(0, size));
    }
  }

  const std::set<std::string>& all() const { return all_; }

  // After `text` ends with a beginning and `byte` follows; null when that completes a forbidden string.
  const std::string* Next(const std::string& beginning, uint8_t byte) const {
    std::string tail = beginning + static_cast<char>(byte);
    for (const std::string& word : forbidden_) {
      if (tail.ends_with(word)) return nullptr;
    }
    while (true) {
      const auto found = all_.find(tail);
      if (found != all_.end()) return &*found;
      tail.erase(0, 1);
    }
  }

 private:
  const std::vector<std::string>& forbidden_;
  std::set<std::string> all_;
};

}  // namespace

void EmitFreeText(Builder& builder, const FreeText& text, int32_t from, int32_t to) {
  const Beginnings beginnings(text.without);
  std::map<std::string, int32_t> states;
  for (const std::string& one : beginnings.all()) states[one] = one.empty() ? from : builder.State();
  for (const auto& [beginning, state] : states) {
    for (int low = 0; low < 256 && !builder.full();) {
      const std::string* next = beginnings.Next(beginning, static_cast<uint8_t>(low));
      int high = low;
      while (high < 255 && beginnings.Next(beginning, static_cast<uint8_t>(high + 1)) == next) ++high;
      if (next != nullptr) {
        builder.Emit(Bytes(static_cast<uint8_t>(low), static_cast<uint8_t>(high)), state, states[*next]);
      }
      low = high + 1;
    }
    builder.Empty(state, to);
    if (text.tokens) builder.automaton().AddAnyToken(state, from);
  }
}

}  // namespace hearth::grammar
