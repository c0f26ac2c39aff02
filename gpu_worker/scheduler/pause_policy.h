#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hearth {

// Who gives way when the pool of pages is dry. Pure.

struct PauseCandidate {
  uint64_t order = 0;     // number of admission; the highest is the youngest
  bool in_chunk = false;  // in the middle of a prefill chunk, where a sequence cannot be taken out
};

// Index of the sequence to pause: the youngest. Nothing when that one is inside a chunk: whoever needs pages sits out
// until the chunk ends.
std::optional<size_t> PauseVictim(std::span<const PauseCandidate> holders);

}  // namespace hearth
