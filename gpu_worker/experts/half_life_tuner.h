#pragma once

#include <cmath>
#include <cstdint>

#include "gpu_worker/experts/frequency.h"
#include "kernels/cuda/host_device.h"

// Finds the half-life that foresees the picks. Each candidate predicts, for a sample of the experts, the chance of
// being picked at the next token: the decayed count over the decayed number of tokens so far (its mass, which rises to
// half_life / ln 2; dividing by it keeps young long memories from losing for being young). A candidate's gain is how
// far its predictions lower the squared error of predicting nothing, summed over all tokens: twice the chance at each
// pick minus the integral of chance^2. Between two picks of an expert the chance decays by a known law, so the sum
// needs work at picks only. Of candidates with about the same gain the longest is taken: its scores carry the least
// noise. Plain data, host and device.
namespace hearth::cache {

constexpr int kHalfLives = 7;
constexpr int32_t kTunerSample = 8;       // every eighth key is watched
constexpr double kTunerWindow = 512;      // tokens between decisions
constexpr double kTunerForget = 0.5;      // of the gains, at each decision
constexpr double kTunerSlack = 0.03;      // share of the best gain that a longer half-life may lack
constexpr double kShortestHalfLife = 16;  // tokens; each candidate doubles the one before

struct Watched {
  double at = -1;  // token of the last pick, negative before the first
  double count[kHalfLives] = {};
};

struct Tuner {
  double now = 0;  // tokens
  double decide_at = kTunerWindow;
  double mass[kHalfLives] = {};
  double gain[kHalfLives] = {};
};

HEARTH_HD inline double HalfLifeOf(int candidate) { return kShortestHalfLife * static_cast<double>(1 << candidate); }

HEARTH_HD inline int32_t WatchedCount(int32_t keys) { return keys / kTunerSample + 1; }

HEARTH_HD inline double RateOf(int candidate) { return kLn2 / HalfLifeOf(candidate); }

HEARTH_HD inline void Observe(Tuner& tuner, Watched* watched, int32_t key, int32_t picks) {
  if (key % kTunerSample != 0) return;
  Watched& w = watched[key / kTunerSample];
  const double gap = w.at < 0 ? 0 : tuner.now - w.at;
  for (int c = 0; c < kHalfLives; ++c) {
    const double decay = exp2(-gap / HalfLifeOf(c)), rate = RateOf(c), mass = tuner.mass[c];
    const double left = w.count[c] * decay;
    if (w.at >= 0 && mass > 0) {
      // The mass at the pick before; after four half-lives the difference is below a tenth. The integral over
      // 1 / mass(t)^2 uses the product of both ends, exact while the mass grows by one a token.
      const double before = decay > 0.0625 ? (mass - (1 - decay) / rate) / decay : mass;
      const double both = mass * (before > 1 ? before : 1);
      tuner.gain[c] += 2 * picks * left / mass - (w.count[c] * w.count[c] - left * left) / (2 * rate * both);
    }
    w.count[c] = left + picks;
  }
  w.at = tuner.now;
}

// Moves time on. The half-life to use from now on.
HEARTH_HD inline double AdvanceTuner(Tuner& tuner, double tokens, double current) {
  tuner.now += tokens;
  // A step is far shorter than the shortest half-life, so one step of Euler serves; no batch overshoots the limit.
  for (int c = 0; c < kHalfLives; ++c) {
    const double grown = tuner.mass[c] + tokens * (1 - tuner.mass[c] * RateOf(c)), limit = 1 / RateOf(c);
    tuner.mass[c] = grown < limit ? grown : limit;
  }
  if (tuner.now < tuner.decide_at) return current;
  tuner.decide_at = tuner.now + kTunerWindow;
  double best = 0;
  for (double gain : tuner.gain) best = gain > best ? gain : best;
  int chosen = kHalfLives - 1;
  while (chosen > 0 && tuner.gain[chosen] < (1 - kTunerSlack) * best) --chosen;
  for (double& gain : tuner.gain) gain *= kTunerForget;
  return HalfLifeOf(chosen);
}

}  // namespace hearth::cache
