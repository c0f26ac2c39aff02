#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

// What runs next. Pure.

enum class Work { kNone, kDecode, kPrefill };

// Prefill goes first, but running streams get a decode step once `prefill_time` (spent since the last one) reaches
// `decode_every`.
Work NextWork(bool decode_ready, bool prefill_ready, std::chrono::nanoseconds prefill_time,
              std::chrono::nanoseconds decode_every);

// Which sequences decode in the next step: indices into `ready`, at most max_rows. `ready` has the sequences' order
// numbers, ascending. Starts behind `last_served` and goes round, so that everyone gets a turn within
// ceil(ready / max_rows) steps.
std::vector<size_t> PlanBatch(std::span<const uint64_t> ready, size_t max_rows, uint64_t last_served);

// Whose chunk is prefilled next: the index of the smallest ticket (the one served longest ago; tickets are unique).
size_t PlanPrefill(std::span<const uint64_t> tickets);

// Length of the next chunk of a sequence with `done` of `total` tokens prefilled.
int64_t ChunkLength(int64_t done, int64_t total, int64_t chunk_size);

}  // namespace hearth
