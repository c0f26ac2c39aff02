#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;
  bool operator==(const TokenLogprob&) const = default;
};

// Natural log-probabilities of one logits row under the softmax over the whole row: no temperature, no penalty, nothing
// masked. Sums are formed in double, by ascending id.
class RowLogProbs {
 public:
  explicit RowLogProbs(std::span<const float> logits);

  // False when a logit is NaN or all are -inf or one is +inf; the other members then mean nothing.
  bool finite() const { return finite_; }
  float Of(int32_t id) const { return static_cast<float>(logits_[static_cast<size_t>(id)] - log_sum_); }
  // The n most likely ids: falling logit, ties by ascending id. Fewer when the row is shorter.
  std::vector<TokenLogprob> Top(int n) const;

 private:
  std::span<const float> logits_;
  double log_sum_ = 0;
  bool finite_ = false;
};

// Hash of the row's fp32 bytes.
uint64_t LogitsHash(std::span<const float> logits);

}  // namespace hearth
