#include "gpu_worker/constraint/token_trie.h"

#include <algorithm>

namespace hearth {

TokenTrie::TokenTrie(const std::vector<std::string>& tokens) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) ids.push_back(static_cast<int32_t>(id));
  }
  const auto bytes_of = [&](int32_t id) -> const std::string& { return tokens[static_cast<size_t>(id)]; };
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return bytes_of(a) < bytes_of(b); });

  std::vector<uint32_t> open;  // nodes of the path to the previous token
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  const auto add = [&](const std::string& bytes, size_t depth) {
    nodes_.push_back({.token = -1,
                      .end = static_cast<uint32_t>(nodes_.size() + 1),
                      .depth = static_cast<uint16_t>(depth),
                      .byte = static_cast<uint8_t>(bytes[depth])});
  };
  const std::string* previous = nullptr;
  for (int32_t id : ids) {
    const std::string& bytes = bytes_of(id);
    max_depth_ = std::max(max_depth_, bytes.size());
    size_t shared = 0;
    if (previous != nullptr) {
      const size_t most = std::min(previous->size(), bytes.size());
      while (shared < most && (*previous)[shared] == bytes[shared]) ++shared;
    }
    if (shared == bytes.size()) {
      // The same bytes again: sorted, they follow at once, before the subtree gets anything else.
      add(bytes, shared - 1);
    } else {
      close_to(shared);
      for (size_t depth = shared; depth < bytes.size(); ++depth) {
        open.push_back(static_cast<uint32_t>(nodes_.size()));
        add(bytes, depth);
      }
    }
    nodes_.back().token = id;
    previous = &bytes;
  }
  close_to(0);
}

}  // namespace hearth
