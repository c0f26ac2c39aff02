#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include "common/base/deadline.h"

namespace hearth {

// Sleeping and waking across processes on a word in shared memory. Both orders of a store and a wait are safe: the
// kernel compares the word before it sleeps. The word may lie in a read-only mapping of the sleeper.

// Sleeps while the word holds `expected`. False when the deadline passed; true when woken, when the word differs
// already, and now and then for no reason, so the caller looks at the word again.
bool FutexWait(const std::atomic<uint32_t>& word, uint32_t expected, Deadline deadline);

// Wakes up to `count` sleepers, to be called after the store that they wait for. Gives the number woken.
int FutexWake(const std::atomic<uint32_t>& word, int count = INT_MAX);

}  // namespace hearth
