#pragma once

#include <cmath>
#include <cstdint>

#include "gpu_worker/experts/host_device.h"

// Finds the half-life that foresees the picks best. Each candidate predicts, for a sample of the experts, the chance
// of being picked at the next token: count * ln 2 / half-life. Its loss is the squared error of that prediction summed
// over all tokens, up to a constant: integral of chance^2 minus twice the chance at each pick. Between two picks of an
// expert the chance decays by a known law, so the sum needs work at picks only. Plain data, host and device.
namespace hearth::cache {

constexpr int kHalfLives = 7;
constexpr int32_t kTunerSample = 8;       // every eighth key is watched
constexpr double kTunerWindow = 512;      // tokens between decisions
constexpr double kTunerForget = 0.5;      // of the losses, at each decision
constexpr double kShortestHalfLife = 16;  // tokens; each candidate doubles the one before

struct Watched {
  double at = -1;  // token of the last pick, negative before the first
  double count[kHalfLives] = {};
};

struct Tuner {
  double now = 0;  // tokens
  double decide_at = kTunerWindow;
  double loss[kHalfLives] = {};
};

HEARTH_HD inline double HalfLifeOf(int candidate) { return kShortestHalfLife * static_cast<double>(1 << candidate); }

HEARTH_HD inline int32_t WatchedCount(int32_t keys) { return keys / kTunerSample + 1; }

HEARTH_HD inline void Observe(Tuner& tuner, Watched* watched, int32_t key, int32_t picks) {
  if (key % kTunerSample != 0) return;
  constexpr double kLn2 = 0.69314718055994531;
  Watched& w = watched[key / kTunerSample];
  const double gap = w.at < 0 ? 0 : tuner.now - w.at;
  for (int c = 0; c < kHalfLives; ++c) {
    const double decay = exp2(-gap / HalfLifeOf(c)), rate = kLn2 / HalfLifeOf(c);
    const double left = w.count[c] * decay;
    if (w.at >= 0) {
      tuner.loss[c] += rate * (w.count[c] * w.count[c] - left * left) / 2 - 2 * picks * rate * left;
    }
    w.count[c] = left + picks;
  }
  w.at = tuner.now;
}

// Moves time on. The half-life to use from now on.
HEARTH_HD inline double AdvanceTuner(Tuner& tuner, double tokens, double current) {
  tuner.now += tokens;
  if (tuner.now < tuner.decide_at) return current;
  tuner.decide_at = tuner.now + kTunerWindow;
  int best = 0;
  for (int c = 1; c < kHalfLives; ++c) {
    if (tuner.loss[c] < tuner.loss[best]) best = c;
  }
  for (double& loss : tuner.loss) loss *= kTunerForget;
  return HalfLifeOf(best);
}

}  // namespace hearth::cache
