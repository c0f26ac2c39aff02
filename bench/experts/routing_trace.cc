#include "bench/experts/routing_trace.h"

#include <algorithm>
#include <cmath>

namespace hearth {

RoutingTrace::RoutingTrace(const Shape& shape) : shape_(shape), random_(shape.seed) {
  const size_t cells = static_cast<size_t>(shape.layers) * static_cast<size_t>(shape.experts);
  popularity_.resize(cells);
  topic_.resize(cells);
  for (double& value : popularity_) value = shape.spread * Normal();
  if (shape.zipf > 0) {
    const auto experts = static_cast<std::ptrdiff_t>(shape.experts);
    for (auto layer = popularity_.begin(); layer != popularity_.end(); layer += experts) {
      for (std::ptrdiff_t rank = 0; rank < experts; ++rank) {
        layer[rank] = -shape.zipf * std::log(static_cast<double>(rank + 1));
      }
      std::shuffle(layer, layer + experts, random_);
    }
  }
  for (double& value : topic_) value = shape.drift * Normal();
  picks_.resize(static_cast<size_t>(shape.layers) * static_cast<size_t>(shape.picks));
  scored_.resize(static_cast<size_t>(shape.experts));
}

double RoutingTrace::Normal() { return normal_(random_); }

double RoutingTrace::Gumbel() {
  const double uniform = (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
  return -std::log(-std::log(uniform));
}

const std::vector<int32_t>& RoutingTrace::NextToken() {
  const double keep = std::exp(-1 / shape_.memory);
  const double kick = shape_.drift * std::sqrt(1 - keep * keep);
  for (int layer = 0; layer < shape_.layers; ++layer) {
    const size_t base = static_cast<size_t>(layer) * static_cast<size_t>(shape_.experts);
    for (int expert = 0; expert < shape_.experts; ++expert) {
      const size_t cell = base + static_cast<size_t>(expert);
      if (shape_.drift > 0) topic_[cell] = keep * topic_[cell] + kick * Normal();
      scored_[static_cast<size_t>(expert)] = {-(popularity_[cell] + topic_[cell] + shape_.noise * Gumbel()), expert};
    }
    std::nth_element(scored_.begin(), scored_.begin() + shape_.picks - 1, scored_.end());
    int32_t* out = &picks_[static_cast<size_t>(layer) * static_cast<size_t>(shape_.picks)];
    for (int k = 0; k < shape_.picks; ++k) out[k] = scored_[static_cast<size_t>(k)].second;
    std::sort(out, out + shape_.picks);
  }
  return picks_;
}

}  // namespace hearth
