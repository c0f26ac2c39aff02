#pragma once

#include <cstdint>

namespace hearth {

// Who may start. Pure.

// Tokens a sequence may grow by before it has to ask for pages again.
constexpr int64_t kGrowthRoom = 256;

// Tokens to reserve for a sequence that has (or will have, after prefill) `length` tokens and never more than
// `max_length`.
int64_t TokensToReserve(int64_t length, int64_t max_length);

struct PoolView {
  int free_slots = 0;
  int64_t free_tokens = 0;
  int64_t page_tokens = 1;
};

// Whether a sequence that wants `tokens` may take a slot and its pages now.
bool HasRoom(const PoolView& pool, int64_t tokens);

// How many of the `unfinished` requests (waiting or admitted) must end before a new one starts; 0: it starts at once.
uint32_t QueuePosition(int64_t unfinished, int64_t slots);

}  // namespace hearth
