#include "bench/engine/streams.h"

#include <algorithm>
#include <chrono>

#include "common/base/startup_error.h"

namespace hearth {
namespace {

void OrThrow(const Status& status) {
  if (!status.ok()) throw StartupError(status.ToString());
}

}  // namespace

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Streams::Streams(ModelEngine& engine, int count, bool greedy, uint64_t seed)
    : engine_(engine), greedy_(greedy), random_(seed) {
  for (int i = 0; i < count; ++i) {
    const SequenceStore::Slot slot = engine.store().Open();
    if (slot < 0) throw StartupError(StrCat(count, " streams need as many sequences; raise -ambs"));
    rows_.push_back({slot, 0});
  }
  if (count > engine.limits().max_batch_rows) {
    throw StartupError(StrCat(count, " streams need --max-batch-size ", count));
  }
  logits_.resize(rows_.size() * static_cast<size_t>(engine.model().vocab_size));
}

Streams::~Streams() {
  for (const Decoder::DecodeRow& row : rows_) engine_.store().Close(row.slot);
}

double Streams::Prefill(int64_t tokens) {
  std::vector<int32_t> prompt(static_cast<size_t>(tokens));
  const double begin = Now();
  for (size_t i = 0; i < rows_.size(); ++i) {
    for (int32_t& token : prompt) {
      token = static_cast<int32_t>(random_() % static_cast<uint64_t>(engine_.model().vocab_size));
    }
    const int64_t before = engine_.store().length(rows_[i].slot);
    if (!engine_.store().Reserve(rows_[i].slot, before + tokens)) {
      throw StartupError(StrCat("the pool has no room for ", before + tokens, " tokens; raise -cs"));
    }
    for (int64_t first = 0; first < tokens;) {
      const int64_t count = std::min(engine_.limits().chunk_size, tokens - first);
      engine_.decoder().BeginChunk(rows_[i].slot,
                                   std::span(prompt).subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
      while (!engine_.decoder().chunk_done()) OrThrow(engine_.decoder().StepLayer(nullptr));
      first += count;
      if (first == tokens)
        engine_.decoder().ChunkLogits(count - 1, 1, &logits_[i * static_cast<size_t>(engine_.model().vocab_size)]);
    }
    engine_.decoder().AbandonChunk();
  }
  return Now() - begin;
}

int32_t Streams::NextToken(size_t stream) {
  const auto vocab = static_cast<size_t>(engine_.model().vocab_size);
  if (!greedy_) return static_cast<int32_t>(random_() % vocab);
  const auto begin = logits_.begin() + static_cast<std::ptrdiff_t>(stream * vocab);
  return static_cast<int32_t>(std::max_element(begin, begin + static_cast<std::ptrdiff_t>(vocab)) - begin);
}

double Streams::Step() {
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].token = NextToken(i);
    if (!engine_.store().Reserve(rows_[i].slot, engine_.store().length(rows_[i].slot) + 1)) {
      throw StartupError("the pool has no room for another token; raise -cs");
    }
  }
  stepped_ = true;
  const double begin = Now();
  OrThrow(engine_.decoder().Decode(rows_, logits_.data()));
  return Now() - begin;
}

void Streams::Save() {
  saved_.clear();
  for (const Decoder::DecodeRow& row : rows_) saved_.push_back(engine_.store().Save(row.slot));
}

void Streams::Restore() {
  for (Decoder::DecodeRow& row : rows_) engine_.store().Close(row.slot);
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].slot = engine_.store().Open();
    if (!engine_.store().Restore(rows_[i].slot, saved_[i])) throw StartupError("the pool has no room; raise -cs");
    if (!engine_.store().Reserve(rows_[i].slot, saved_[i].length + 1)) throw StartupError("the pool has no room");
  }
}

double Streams::StepAgain() {
  if (!stepped_ || saved_.size() != rows_.size()) throw StartupError("nothing to do again");
  Restore();
  const double begin = Now();
  OrThrow(engine_.decoder().Decode(rows_, logits_.data()));
  return Now() - begin;
}

}  // namespace hearth
