// The exact promise at the level of the graph: bits do not depend on chunks, batch neighbours, slots, pages or pauses.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/model_runner.h"
#include "tests/support/test_backend.h"

namespace hearth::testing {
namespace {

using kernels::Real;

class Exactness : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    home_ = new TemporaryHome;
    LoadOptions options;
    options.home.home_dir = home_->path();
    model_ = new LoadedModel(LoadModel(HEARTH_SOURCE_DIR "/models/hearth-tiny", options));
    std::ifstream file(HEARTH_SOURCE_DIR "/reference/hearth-tiny-panel.json");
    const auto panel = nlohmann::json::parse(file);
    for (const auto& item : panel) {
      if (item["name"] == "needle") tokens_ = item["tokens"].get<std::vector<int32_t>>();
      if (item["name"] == "book") other_ = item["tokens"].get<std::vector<int32_t>>();
    }
    tokens_.resize(460);
    want_ = ModelRunner(*model_, backend(), {}).Run(tokens_, kPrompt);
  }
  static void TearDownTestSuite() {
    delete model_;
    delete home_;
    model_ = nullptr;
    home_ = nullptr;
  }

  static const kernels::Backend& backend() { return TestBackend(); }
  static void ExpectSame(const std::vector<Real>& got, size_t first_row = 0) {
    const size_t vocab = model_->config.vocab_size;
    for (size_t r = 0; r < got.size() / vocab; ++r) {
      ASSERT_EQ(std::memcmp(&got[r * vocab], &want_[(first_row + r) * vocab], vocab * sizeof(Real)), 0)
          << "row " << first_row + r;
    }
  }

  static constexpr int64_t kPrompt = 400;
  static inline TemporaryHome* home_ = nullptr;
  static inline LoadedModel* model_ = nullptr;
  static inline std::vector<int32_t> tokens_, other_;
  static inline std::vector<Real> want_;
};

TEST_F(Exactness, ChunkSizesGiveEqualBits) {
  for (int64_t chunk : {64, 128, 320, 8192}) {
    SCOPED_TRACE(chunk);
    ExpectSame(ModelRunner(*model_, backend(), {.chunk_size = chunk}).Run(tokens_, kPrompt));
  }
}

TEST_F(Exactness, NeighboursInTheBatchGiveEqualBits) {
  ModelRunner runner(*model_, backend(), {.slots = 4});
  const size_t vocab = model_->config.vocab_size;
  SequenceStore::Slot slots[4];
  const int64_t prompts[4] = {70, kPrompt, 1, 200};
  for (int s = 0; s < 4; ++s) slots[s] = runner.store().Open();
  for (int s : {2, 1, 3, 0}) {
    const auto& tokens = s == 1 ? tokens_ : other_;
    runner.Prefill(slots[s], std::span(tokens).first(prompts[s]));
  }
  std::vector<Real> logits(4 * vocab);
  for (size_t i = 0; i + kPrompt < tokens_.size(); ++i) {
    std::vector<Decoder::DecodeRow> rows;
    size_t at = 0;
    for (int s = 0; s < 4; ++s) {
      const int who = (s + int(i)) % 4;  // order and number of neighbours change from step to step
      if (who != 1 && (i + who) % 3 == 0) continue;
      if (who == 1) at = rows.size();
      runner.store().Reserve(slots[who], runner.store().length(slots[who]) + 1);
      rows.push_back({slots[who], who == 1 ? tokens_[kPrompt + i] : other_[i]});
    }
    ASSERT_TRUE(runner.decoder().Decode(rows, logits.data()).ok());
    ExpectSame({&logits[at * vocab], &logits[(at + 1) * vocab]}, kPrompt + i);
  }
}

TEST_F(Exactness, DecodeStepsBetweenTheLayersOfAChunkGiveEqualBits) {
  ModelRunner runner(*model_, backend(), {.slots = 2});
  const size_t vocab = model_->config.vocab_size;
  const SequenceStore::Slot decoding = runner.store().Open();
  runner.Prefill(decoding, std::span(tokens_).first(kPrompt));
  const SequenceStore::Slot prefilling = runner.store().Open();
  ASSERT_TRUE(runner.store().Reserve(prefilling, 200) && runner.store().Reserve(decoding, kPrompt + 8));
  runner.decoder().BeginChunk(prefilling, std::span(tokens_).first(200));
  std::vector<Real> logits(vocab);
  for (int i = 0; !runner.decoder().chunk_done(); ++i) {
    ASSERT_TRUE(runner.decoder().StepLayer(nullptr).ok());
    const Decoder::DecodeRow row{decoding, tokens_[kPrompt + i]};
    ASSERT_TRUE(runner.decoder().Decode({&row, 1}, logits.data()).ok());
    ExpectSame(logits, kPrompt + i);
  }
  std::vector<Real> chunk(200 * vocab);
  runner.decoder().ChunkLogits(0, 200, chunk.data());
  ExpectSame(chunk);
}

TEST_F(Exactness, APauseAndOtherPagesGiveEqualBits) {
  ModelRunner runner(*model_, backend(), {.slots = 3});
  SequenceStore& store = runner.store();
  const SequenceStore::Slot first = store.Open();
  runner.Prefill(first, std::span(tokens_).first(kPrompt));
  ExpectSame(runner.Decode(first, std::span(tokens_).subspan(kPrompt, 10)), kPrompt);
  const SequenceStore::Saved saved = store.Save(first);
  store.Close(first);
  // Another sequence takes the freed slot and pages before the first one comes back.
  const SequenceStore::Slot other = store.Open();
  runner.Prefill(other, other_);
  const SequenceStore::Slot again = store.Open();
  ASSERT_NE(again, first);
  ASSERT_TRUE(store.Restore(again, saved));
  EXPECT_EQ(store.length(again), kPrompt + 10);
  ExpectSame(runner.Decode(again, std::span(tokens_).subspan(kPrompt + 10)), kPrompt + 10);
}

TEST_F(Exactness, AClosedSequenceReturnsEverything) {
  ModelRunner runner(*model_, backend(), {.slots = 2, .pool_tokens = 512});
  SequenceStore& store = runner.store();
  const int64_t free_tokens = store.free_tokens();
  for (int round = 0; round < 3; ++round) {
    const SequenceStore::Slot slot = store.Open();
    ASSERT_TRUE(store.Reserve(slot, 500));
    EXPECT_FALSE(store.Reserve(slot, 513));
    const SequenceStore::Slot second = store.Open();
    EXPECT_FALSE(store.Reserve(second, 64));
    EXPECT_EQ(store.Open(), -1);
    store.Close(second);
    store.Close(slot);
    EXPECT_EQ(store.free_tokens(), free_tokens);
    EXPECT_EQ(store.free_slots(), 2);
  }
}

}  // namespace
}  // namespace hearth::testing
