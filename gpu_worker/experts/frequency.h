#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/host_device.h"

// Decayed pick counts. An expert's count halves every `half_life` tokens. It is kept as a binary logarithm relative to
// a clock that counts half-lives: log2(sum over picks of 2^(time of the pick)). Scores of different experts compare
// directly, nothing has to decay until it is picked again, and the half-life may change at any time.
namespace hearth::cache {

constexpr double kNeverSeen = -1e30;
constexpr double kLn2 = 0.69314718055994531;
// An admission costs this many reads of the expert: its copy.
constexpr double kCopyReads = 1;
// The lead of a newcomer beyond the copy, at least, in standard deviations of the difference of two counts.
constexpr double kNoiseMargin = 0.25;

struct Clock {
  double now = 0;          // half-lives
  double half_life = 128;  // tokens
};

HEARTH_HD inline void Advance(Clock& clock, double tokens) { clock.now += tokens / clock.half_life; }

// The score after so many more picks at time `now`; a fraction where a pick counts for less than one.
HEARTH_HD inline double ScoreAfter(double score, double now, double picks) {
  const double added = picks == 1 ? now : now + log2(picks);
  const double high = score > added ? score : added;
  const double low = score > added ? added : score;
  return low - high < -60 ? high : high + log2(1 + exp2(low - high));
}

// The decayed count itself.
HEARTH_HD inline double CountAt(double score, double now) { return exp2(score - now); }

// Whether a newcomer may pay at all, whoever the victim is: it needs picks besides the one that brings it here.
HEARTH_HD inline bool MayPay(double newcomer, double now) { return CountAt(newcomer, now) - 1 > kCopyReads; }

// Whether the reads that the newcomer saves in the victim's place are expected to exceed the copy.
//
// A count c stands for a rate of c * ln 2 / half_life picks a token, and a count remembers half_life / ln 2 tokens on
// average. Over as long a time to come, a lead of d counts is a saving of d reads. The newcomer is judged right after
// a pick, the victim at any time, so that pick does not count. Picks come at random: a count made of rare independent
// events has the variance c / 2, and without a margin for it equals would change places for ever.
HEARTH_HD inline bool Pays(double newcomer, double victim, double now) {
  const double mine = CountAt(newcomer, now) - 1, theirs = CountAt(victim, now);
  const double lead = mine - theirs - kCopyReads;
  return lead > 0 && lead > kNoiseMargin * sqrt((mine + theirs) / 2);
}

}  // namespace hearth::cache
