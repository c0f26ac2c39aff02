#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

// The ordinary tokens' bytes as a tree, flat and in preorder. A token with the bytes of another gets a node of its own
// at the same depth, inside the other's subtree.
class TokenTrie {
 public:
  struct Node {
    int32_t token = -1;  // that ends here
    uint32_t end = 0;    // index behind the subtree
    uint16_t depth = 0;  // 0: first byte
    uint8_t byte = 0;
  };

  TokenTrie() = default;
  // By id; "" is no token.
  explicit TokenTrie(const std::vector<std::string>& tokens);

  const std::vector<Node>& nodes() const { return nodes_; }
  size_t max_depth() const { return max_depth_; }  // nodes of the longest path

 private:
  std::vector<Node> nodes_;
  size_t max_depth_ = 0;
};

}  // namespace hearth
