#include <gtest/gtest.h>

#include "common/base/float16.h"
#include "kernels/exl3/exl3.h"
#include "tests/kernels/exl3/exl3_vectors.h"
#include "tests/support/sha256.h"

namespace hearth::kernels {
namespace {

using testing::CodebookNamed;
using testing::HexBytes;
using testing::HexU16;

TEST(Sha256, KnowsThePublishedDigests) {
  EXPECT_EQ(testing::Sha256Hex("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(testing::Sha256Hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  EXPECT_EQ(testing::Sha256Hex(two_blocks.data(), two_blocks.size()),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Exl3Codebook, WholeTablesMatchTheirHashes) {
  const auto vectors = testing::ReadExl3Vectors();
  int seen = 0;
  for (const auto& [name, book] : vectors.at("codebooks").items()) {
    const Codebook codebook = CodebookNamed(name);
    std::vector<uint16_t> table(65536);
    for (uint32_t s = 0; s < 65536; ++s) table[s] = Exl3CodebookF16(codebook, static_cast<uint16_t>(s));
    EXPECT_EQ(testing::Sha256Hex(table.data(), table.size() * 2), book.at("table_sha256")) << name;
    const float* floats = Exl3CodebookTable(codebook);
    for (uint32_t s = 0; s < 65536; ++s) ASSERT_EQ(FloatToF16(floats[s]), table[s]) << name << " state " << s;
    for (const auto& sample : book.at("samples")) {
      const uint16_t state = HexU16(sample.at("state"))[0];
      EXPECT_EQ(floats[state], sample.at("value").get<float>()) << name << " state " << state;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 3);
}

TEST(Exl3Tile, StreamOrderMatches) {
  const auto order = testing::ReadExl3Vectors().at("stream_to_rowmajor");
  ASSERT_EQ(order.size(), 256u);
  for (int t = 0; t < 256; ++t) EXPECT_EQ(16 * Exl3Row(t) + Exl3Column(t), order[t].get<int>()) << t;
}

TEST(Exl3Tile, EveryGoldenTileIsBitEqual) {
  const auto vectors = testing::ReadExl3Vectors();
  int count = 0;
  for (const auto& tile : vectors.at("tiles")) {
    const uint32_t bits = tile.at("K");
    const auto bytes = HexBytes(tile.at("packed_bytes"));
    ASSERT_EQ(bytes.size(), 32u * bits);
    std::vector<uint32_t> words(8 * bits);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    const auto states = HexU16(tile.at("states_u16"));
    const auto weights = HexU16(tile.at("weights_f16"));
    for (int t = 0; t < 256; ++t) {
      const uint16_t state = Exl3State(words.data(), bits, t);
      ASSERT_EQ(state, states[t]) << tile.at("id") << " t " << t;
      ASSERT_EQ(Exl3CodebookF16(CodebookNamed(tile.at("codebook")), state), weights[16 * Exl3Row(t) + Exl3Column(t)])
          << tile.at("id") << " t " << t;
    }
    ++count;
  }
  EXPECT_EQ(count, 120);
}

}  // namespace
}  // namespace hearth::kernels
