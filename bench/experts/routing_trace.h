#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace hearth {

// Expert picks of one decode stream, token by token, with the statistics that matter to a cache: a popularity per
// layer with a long tail, a topic that drifts, noise per token. The parameters are those of
// tools/make_routing_trace.py; the random numbers differ.
class RoutingTrace {
 public:
  struct Shape {
    int layers = 42, experts = 288, picks = 8;
    double spread = 1.2, drift = 1.0, memory = 500, noise = 1.0;
    double zipf = 0;  // above 0: popularity falls as rank ^ -zipf, ranks drawn per layer, in place of `spread`
    uint64_t seed = 1;
  };
  explicit RoutingTrace(const Shape& shape);

  // Picks of the next token: [layers, picks], ascending within a layer.
  const std::vector<int32_t>& NextToken();

 private:
  double Normal();
  double Gumbel();

  Shape shape_;
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  std::vector<double> popularity_, topic_;
  std::vector<int32_t> picks_;
  std::vector<std::pair<double, int32_t>> scored_;
};

}  // namespace hearth
