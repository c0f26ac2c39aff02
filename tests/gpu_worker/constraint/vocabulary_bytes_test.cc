#include "gpu_worker/constraint/vocabulary_bytes.h"

#include <gtest/gtest.h>

#include "gpu_worker/constraint/token_trie.h"
#include "tests/gpu_worker/constraint/tiny_vocabulary.h"

namespace hearth {
namespace {

constexpr const char* kSmall = R"({
  "added_tokens": [{"id": 5, "content": "<x>"}, {"id": 1, "content": "<y>"}],
  "model": {"vocab": {"a": 0, "<y>": 1, "\u0120b": 3, "\u00c3\u00a9": 4}, "merges": []}
})";

TEST(VocabularyBytes, TellsOrdinaryAddedAndUnusedIds) {
  const auto vocabulary = VocabularyBytes::Parse(kSmall, 8);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  EXPECT_EQ(vocabulary->ordinary, (std::vector<std::string>{"a", "", "", " b", "\xC3\xA9", "", "", ""}));
  EXPECT_EQ(vocabulary->added, (std::vector<int32_t>{1, 5}));
}

TEST(VocabularyBytes, RefusesWhatItCannotRead) {
  const auto message = [](const std::string& text, int32_t size) {
    const auto vocabulary = VocabularyBytes::Parse(text, size);
    return vocabulary.ok() ? "" : vocabulary.status().message();
  };
  EXPECT_NE(message(kSmall, 4).find("outside the model's 4 ids"), std::string::npos);
  EXPECT_NE(message("{", 4).find("tokenizer.json"), std::string::npos);
  EXPECT_NE(message(R"({"model": {"vocab": {" ": 0}}})", 4).find("byte-level"), std::string::npos);
  EXPECT_NE(message(R"({"added_tokens": [{"content": "x"}]})", 4).find("no id"), std::string::npos);
  EXPECT_NE(message(R"({"added_tokens": [7]})", 4).find("no id"), std::string::npos);
  EXPECT_NE(message(R"({"added_tokens": {"id": 2}})", 4).find("not an array"), std::string::npos);
  EXPECT_EQ(VocabularyBytes::Read("/nonexistent", 4).status().code(), StatusCode::kNotFound);
}

TEST(VocabularyBytes, ReadsTheBundledModel) {
  const VocabularyBytes& tiny = TinyVocabulary()->bytes;
  EXPECT_EQ(tiny.added.size(), 36u);
  EXPECT_EQ(tiny.added.front(), kEndOfText);
  std::set<std::string> single;
  for (const std::string& bytes : tiny.ordinary) {
    if (bytes.size() == 1) single.insert(bytes);
  }
  EXPECT_EQ(single.size(), 256u) << "every byte can be written";
}

// Every token is found by walking its bytes down the tree, and nothing else is in it.
TEST(TokenTrie, HoldsEveryTokenOnce) {
  std::vector<std::string> tokens = TinyVocabulary()->bytes.ordinary;
  tokens.insert(tokens.end(), {"the same", "the same", "", "x", "the same one", std::string(300, 'y')});
  const TokenTrie trie(tokens);
  std::vector<std::string> path(trie.max_depth());
  std::vector<int> found(tokens.size());
  EXPECT_EQ(trie.max_depth(), 300u);
  for (size_t i = 0; i < trie.nodes().size(); ++i) {
    const TokenTrie::Node& node = trie.nodes()[i];
    ASSERT_LE(node.depth, trie.max_depth());
    ASSERT_GT(node.end, i);
    ASSERT_LE(node.end, trie.nodes().size());
    path[node.depth] = (node.depth == 0 ? "" : path[node.depth - size_t{1}]) + static_cast<char>(node.byte);
    // A subtree ends where the depth comes back; the repeated token is a leaf beside children of its twin.
    const bool repeated = node.token >= 4096 && node.end < trie.nodes().size();
    if (node.end < trie.nodes().size() && !repeated) {
      ASSERT_LE(trie.nodes()[node.end].depth, node.depth);
    }
    if (node.token < 0) continue;
    EXPECT_EQ(path[node.depth], tokens[static_cast<size_t>(node.token)]);
    ++found[static_cast<size_t>(node.token)];
  }
  for (size_t id = 0; id < tokens.size(); ++id) EXPECT_EQ(found[id], tokens[id].empty() ? 0 : 1) << id;
}

}  // namespace
}  // namespace hearth
