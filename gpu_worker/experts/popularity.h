#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

// How often decode picks each expert: what the cache of the next run starts from. It knows nothing of slots or of the
// policy's memory, so it holds for any card.
struct Popularity {
  uint32_t layers = 0, experts = 0;
  double tokens = 0;          // seen
  std::vector<double> picks;  // per token, [layers * experts]
};

// Most tokens that an earlier record counts for beside newer ones.
constexpr double kPopularityMemory = 100'000;

// Both records as one. They are of one shape, or `older` is empty.
Popularity Blend(const Popularity& older, const Popularity& newer);

// Keys (layer * experts + expert) that were picked at all, most often first; ties by key.
std::vector<int32_t> MostPopular(const Popularity& popularity);

}  // namespace hearth
