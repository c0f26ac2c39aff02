#pragma once

#include <cstdint>

#include "gpu_worker/experts/frequency.h"
#include "gpu_worker/experts/half_life_tuner.h"
#include "kernels/cuda/host_device.h"

// What the expert cache decides: which slot holds which expert, who is evicted, who is let in. Plain arrays and plain
// functions without any allocation, so the same text is compiled for host and device. The caller moves the bytes.
//
// All slots are equal and shared by all layers. An expert's key is layer * experts + expert. Replacement is CLOCK: a
// reference bit per slot and one hand. Admission is a decision of its own: a newcomer takes a victim's place only if
// that is expected to save more reads than the copy costs (docs/design/expert_cache.md).
//
// Invariants, tested with random sequences: slot_of and owner agree; a pinned slot is neither evicted nor lent; a lent
// slot has no owner; used + lent + free = slots.
namespace hearth::cache {

constexpr int32_t kNone = -1;
constexpr int32_t kLent = -2;
// What a prefill chunk weighs at most, the smaller of the two.
constexpr double kPrefillTokens = 16;
constexpr double kPrefillHalfLives = 0.125;

enum class Admission : uint8_t { kByFrequency, kAlways, kNever };

struct Counters {
  uint64_t hits = 0;        // experts touched that were resident
  uint64_t misses = 0;      // experts touched that were not
  uint64_t admissions = 0;  // experts that got a slot
  uint64_t evictions = 0;   // slots taken from an expert, by admission or by lending
};

struct State {
  int32_t hand = 0;
  int32_t used = 0;
  int32_t lent = 0;
  bool adapt = true;  // the half-life follows the traffic
  Clock clock;
  Tuner tuner;
  Counters counters;
};

// The arrays belong to the caller. Everything is per process; one thread (or one device block) changes it at a time.
struct View {
  int32_t* slot_of = nullptr;     // [keys] slot or kNone
  int32_t* owner = nullptr;       // [slots] key, kNone when free, kLent
  uint8_t* referenced = nullptr;  // [slots]
  uint8_t* pinned = nullptr;      // [slots] in use by the running step
  double* score = nullptr;        // [keys] see frequency.h
  Watched* watched = nullptr;     // [WatchedCount(keys)]
  State* state = nullptr;
  int32_t keys = 0;
  int32_t slots = 0;
};

HEARTH_HD inline void Reset(const View& v) {
  for (int32_t key = 0; key < v.keys; ++key) {
    v.slot_of[key] = kNone;
    v.score[key] = kNeverSeen;
  }
  for (int32_t slot = 0; slot < v.slots; ++slot) {
    v.owner[slot] = kNone;
    v.referenced[slot] = v.pinned[slot] = 0;
  }
  for (int32_t i = 0; i < WatchedCount(v.keys); ++i) v.watched[i] = Watched();
  *v.state = State();
}

// Before any traffic: the expert was picked so often a token in earlier runs.
HEARTH_HD inline void Expect(const View& v, int32_t key, double picks) {
  const Clock& clock = v.state->clock;
  if (picks > 0) v.score[key] = clock.now + log2(picks * clock.half_life / kLn2);
}

// Moves time on by so many tokens, fractions included: rows / layers for each layer of a step.
HEARTH_HD inline void AdvanceTime(const View& v, double tokens) {
  Advance(v.state->clock, tokens);
  if (!v.state->adapt) return;
  v.state->clock.half_life = AdvanceTuner(v.state->tuner, tokens, v.state->clock.half_life);
}

// Notes that `picks` rows picked the expert, and pins it if it is resident: its slot, or kNone. Called once per expert
// and step, before any Admit of that step.
HEARTH_HD inline int32_t Note(const View& v, int32_t key, int32_t picks) {
  v.score[key] = ScoreAfter(v.score[key], v.state->clock.now, picks);
  if (v.state->adapt) Observe(v.state->tuner, v.watched, key, picks);
  const int32_t slot = v.slot_of[key];
  if (slot != kNone) v.referenced[slot] = v.pinned[slot] = 1;
  return slot;
}

// Moves time on by a prefill chunk, called for each of its layers, and tells what one of its picks weighs
// in NotePrefill. However many rows it has, a chunk counts as a few tokens of decode, so that a long prompt neither
// ages what decode learnt nor outweighs it. The half-life is that of decode; its tuner sees no prefill.
HEARTH_HD inline double AdvancePrefill(const View& v, int32_t rows, int32_t layers) {
  Clock& clock = v.state->clock;
  const double share = kPrefillHalfLives * clock.half_life, most = share < kPrefillTokens ? share : kPrefillTokens;
  const double tokens = rows < most ? rows : most;
  Advance(clock, tokens / layers);
  return tokens / rows;
}

// Note for the picks of a prefill chunk.
HEARTH_HD inline int32_t NotePrefill(const View& v, int32_t key, int32_t picks, double weight) {
  v.score[key] = ScoreAfter(v.score[key], v.state->clock.now, picks * weight);
  const int32_t slot = v.slot_of[key];
  if (slot != kNone) v.referenced[slot] = v.pinned[slot] = 1;
  return slot;
}

// The same as Note, counted as a hit or a miss.
HEARTH_HD inline int32_t Touch(const View& v, int32_t key, int32_t picks) {
  const int32_t slot = Note(v, key, picks);
  ++(slot == kNone ? v.state->counters.misses : v.state->counters.hits);
  return slot;
}

HEARTH_HD inline void Unpin(const View& v, int32_t slot) { v.pinned[slot] = 0; }

// The next slot that CLOCK gives up: a free one, else an unpinned one whose reference bit is clear. kNone when every
// slot is pinned or lent. The hand stays behind the slot found.
HEARTH_HD inline int32_t NextVictim(const View& v) {
  State& s = *v.state;
  const bool free_left = v.slots - s.used - s.lent > 0;
  // Two rounds clear every reference bit; a third finds nothing new.
  for (int32_t looked = 0; looked < 2 * v.slots; ++looked) {
    const int32_t slot = s.hand;
    s.hand = slot + 1 == v.slots ? 0 : slot + 1;
    const int32_t owner = v.owner[slot];
    if (owner == kNone) return slot;
    if (free_left || owner == kLent || v.pinned[slot]) continue;
    if (!v.referenced[slot]) return slot;
    v.referenced[slot] = 0;
  }
  return kNone;
}

HEARTH_HD inline void Release(const View& v, int32_t slot) {
  const int32_t key = v.owner[slot];
  if (key < 0) return;
  v.slot_of[key] = kNone;
  v.owner[slot] = kNone;
  v.referenced[slot] = 0;
  --v.state->used;
  ++v.state->counters.evictions;
}

HEARTH_HD inline int32_t FreeSlots(const View& v) { return v.slots - v.state->used - v.state->lent; }

// Offers a touched expert that is not resident a slot. On success the slot is pinned and belongs to the expert at
// once; the caller fills it before anybody reads it. kNone: not admitted.
HEARTH_HD inline int32_t Admit(const View& v, int32_t key, Admission mode) {
  if (mode == Admission::kNever || v.slot_of[key] != kNone) return kNone;
  const bool choosy = mode == Admission::kByFrequency;
  const double now = v.state->clock.now;
  // Most misses end here, without a walk of the hand.
  if (choosy && FreeSlots(v) == 0 && !MayPay(v.score[key], now)) return kNone;
  const int32_t slot = NextVictim(v);
  if (slot == kNone) return kNone;
  const int32_t victim = v.owner[slot];
  if (choosy && victim >= 0 && !Pays(v.score[key], v.score[victim], now)) return kNone;
  Release(v, slot);
  v.owner[slot] = key;
  v.slot_of[key] = slot;
  v.referenced[slot] = v.pinned[slot] = 1;
  ++v.state->used;
  ++v.state->counters.admissions;
  return slot;
}

// Takes a slot out of the cache. False when it is pinned or lent already.
HEARTH_HD inline bool Lend(const View& v, int32_t slot) {
  if (v.owner[slot] == kLent || v.pinned[slot]) return false;
  Release(v, slot);
  v.owner[slot] = kLent;
  ++v.state->lent;
  return true;
}

// Gives a lent slot back, empty.
HEARTH_HD inline void TakeBack(const View& v, int32_t slot) {
  if (v.owner[slot] != kLent) return;
  v.owner[slot] = kNone;
  --v.state->lent;
}

}  // namespace hearth::cache
