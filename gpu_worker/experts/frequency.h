#pragma once

#include <cmath>
#include <cstdint>

#include "gpu_worker/experts/host_device.h"

// Decayed pick counts. An expert's count halves every `half_life` tokens. It is kept as a binary logarithm relative to
// a clock that counts half-lives: log2(sum over picks of 2^(time of the pick)). Scores of different experts compare
// directly, nothing has to decay until it is picked again, and the half-life may change at any time.
namespace hearth::cache {

constexpr double kNeverSeen = -1e30;
// log2 of how much more often a newcomer must have been picked than the victim. Above 0 it keeps near equals from
// changing places.
constexpr double kAdmissionMargin = 0.1;

struct Clock {
  double now = 0;          // half-lives
  double half_life = 128;  // tokens
};

HEARTH_HD inline void Advance(Clock& clock, double tokens) { clock.now += tokens / clock.half_life; }

// The score after `picks` more picks at time `now`.
HEARTH_HD inline double ScoreAfter(double score, double now, int32_t picks) {
  const double added = picks == 1 ? now : now + log2(static_cast<double>(picks));
  const double high = score > added ? score : added;
  const double low = score > added ? added : score;
  return low - high < -60 ? high : high + log2(1 + exp2(low - high));
}

}  // namespace hearth::cache
