#include "bench/engine/hit_rate_search.h"

#include <algorithm>

#include "gpu_worker/synthetic/router_law.h"

namespace hearth {
namespace {

constexpr double kLeastFollowed = 0.4, kMostFollowed = 2;

}  // namespace

// What the best fixed set of experts would hit, were tokens independent.
double HitRateSearch::BestHitRate(double zipf) const {
  double left = cache_.slots_per_layer, picks = 0;
  for (double p : PickProbabilities(cache_.experts, cache_.top_k, zipf)) {
    picks += p * std::clamp(left, 0.0, 1.0);
    left -= 1;
  }
  return picks / cache_.top_k;
}

double HitRateSearch::ZipfOfBestHitRate(double hit_rate) const {
  double low = kLeastZipf, high = kMostZipf;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (BestHitRate(middle) < hit_rate ? low : high) = middle;
  }
  return (low + high) / 2;
}

double HitRateSearch::Next(double zipf, double hit_rate) {
  const Seen now{zipf, hit_rate};
  const bool low = hit_rate < wanted_;
  std::optional<Seen>& side = low ? below_ : above_;
  if (!side || (low ? hit_rate >= side->hit_rate : hit_rate <= side->hit_rate)) side = now;
  // How much of the best fixed set's change the cache followed the last time.
  double follows = 1;
  if (last_ && last_->zipf != zipf) {
    const double change = (hit_rate - last_->hit_rate) / (BestHitRate(zipf) - BestHitRate(last_->zipf));
    follows = std::clamp(change, kLeastFollowed, kMostFollowed);
  }
  last_ = now;
  if (below_ && above_) {
    const double share = (wanted_ - below_->hit_rate) / (above_->hit_rate - below_->hit_rate);
    return below_->zipf + share * (above_->zipf - below_->zipf);
  }
  return ZipfOfBestHitRate(BestHitRate(zipf) + (wanted_ - hit_rate) / follows);
}

}  // namespace hearth
