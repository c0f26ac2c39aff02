#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "gpu_worker/model_engine.h"

namespace hearth {

double Now();  // seconds of a steady clock
double MedianOf(std::vector<double> values);

// Sequences that are decoded together, each with a prompt and tokens of its own.
class Streams {
 public:
  Streams(ModelEngine& engine, int count, bool greedy, uint64_t seed);
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Prefills a random prompt of each stream; seconds for all.
  double Prefill(int64_t tokens);
  // One decode step of all; its seconds.
  double Step();
  // Does the last step again from the state before it, with the same picks; its seconds. What it computes is the same.
  double StepAgain();

  void Save();     // what StepAgain returns to
  void Restore();  // to the newest Save()
  const std::vector<float>& logits() const { return logits_; }

 private:
  int32_t NextToken(size_t stream);

  ModelEngine& engine_;
  const bool greedy_;
  std::mt19937_64 random_;
  std::vector<Decoder::DecodeRow> rows_;
  std::vector<SequenceStore::Saved> saved_;
  std::vector<float> logits_;  // [streams, vocab]
  bool stepped_ = false;
};

}  // namespace hearth
