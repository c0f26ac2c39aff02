#include "gpu_worker/experts/popularity.h"

#include <algorithm>

#include "common/base/check.h"

namespace hearth {

Popularity Blend(const Popularity& older, const Popularity& newer) {
  if (older.tokens <= 0) return newer;
  HEARTH_CHECK(older.picks.size() == newer.picks.size(), "records of one model");
  const double kept = std::min(older.tokens, kPopularityMemory), tokens = kept + newer.tokens;
  Popularity both = newer;
  both.tokens = tokens;
  for (size_t i = 0; i < both.picks.size(); ++i) {
    both.picks[i] = (older.picks[i] * kept + newer.picks[i] * newer.tokens) / tokens;
  }
  return both;
}

std::vector<int32_t> MostPopular(const Popularity& popularity) {
  std::vector<int32_t> keys;
  for (size_t key = 0; key < popularity.picks.size(); ++key) {
    if (popularity.picks[key] > 0) keys.push_back(static_cast<int32_t>(key));
  }
  std::stable_sort(keys.begin(), keys.end(), [&](int32_t a, int32_t b) {
    return popularity.picks[static_cast<size_t>(a)] > popularity.picks[static_cast<size_t>(b)];
  });
  return keys;
}

}  // namespace hearth
