#include "gpu_worker/synthetic/router_law.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace hearth {
namespace {

constexpr double kMostProbable = 0.9;
constexpr int kBisections = 100;

// x of rising `f` with f(x) = wanted.
template <typename F>
double Solve(double low, double high, double wanted, F f) {
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

double NormalCdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

std::vector<double> PickProbabilities(int experts, int top_k, double zipf) {
  std::vector<double> p(static_cast<size_t>(experts));
  if (top_k >= kMostProbable * experts) {
    std::fill(p.begin(), p.end(), static_cast<double>(top_k) / experts);
    return p;
  }
  const auto at = [&](double scale, int rank) { return std::min(kMostProbable, scale * std::pow(rank + 1, -zipf)); };
  const double scale = Solve(0, top_k * std::pow(experts, zipf), top_k, [&](double s) {
    double sum = 0;
    for (int rank = 0; rank < experts; ++rank) sum += at(s, rank);
    return sum;
  });
  for (int rank = 0; rank < experts; ++rank) p[static_cast<size_t>(rank)] = at(scale, rank);
  return p;
}

std::vector<float> RouterBias(int experts, int top_k, double zipf, uint64_t seed) {
  const std::vector<double> p = PickProbabilities(experts, top_k, zipf);
  std::vector<int> rank(static_cast<size_t>(experts));
  std::iota(rank.begin(), rank.end(), 0);
  std::mt19937_64 random(seed);
  for (size_t i = rank.size(); i > 1; --i) std::swap(rank[i - 1], rank[random() % i]);
  std::vector<float> bias(static_cast<size_t>(experts));
  if (p.front() == p.back()) return bias;
  for (size_t e = 0; e < bias.size(); ++e) {
    const double z = Solve(-40, 40, 1 - p[static_cast<size_t>(rank[e])], NormalCdf);
    bias[e] = static_cast<float>(0.5 - 1 / (1 + std::exp(-kRouterGain * z)));
  }
  return bias;
}

}  // namespace hearth
