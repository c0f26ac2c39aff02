#pragma once

#include <optional>

namespace hearth {

// Looks for the exponent of a synthetic router's law (gpu_worker/synthetic/router_law.h) under which the expert cache
// hits as often as wanted. Each guess is measured by the caller. The law alone does not predict a rate: the layers of a
// random model correlate their tokens, and the cache learns.
class HitRateSearch {
 public:
  struct Cache {
    int experts = 0, top_k = 0;  // of a layer
    double slots_per_layer = 0;
  };
  HitRateSearch(const Cache& cache, double wanted) : cache_(cache), wanted_(wanted) {}

  // Notes what was measured and gives the next guess.
  double Next(double zipf, double hit_rate);

  static constexpr double kLeastZipf = 0, kMostZipf = 1.6;

 private:
  struct Seen {
    double zipf = 0, hit_rate = 0;
  };
  double BestHitRate(double zipf) const;
  double ZipfOfBestHitRate(double hit_rate) const;

  const Cache cache_;
  const double wanted_;
  std::optional<Seen> last_, below_, above_;  // nearest to the wanted rate on either side
};

}  // namespace hearth
