#include "gpu_worker/experts/pick_groups.h"

#include <utility>

#include "common/base/check.h"

namespace hearth {

void PickGroups::Build(const int32_t* ids, int64_t rows, int top_k, int experts) {
  const int64_t picks = rows * top_k;
  next_.assign(static_cast<size_t>(experts), 0);
  for (int64_t i = 0; i < picks; ++i) {
    HEARTH_CHECK(ids[i] >= 0 && ids[i] < experts, "an expert id outside the model");
    ++next_[static_cast<size_t>(ids[i])];
  }
  groups_.clear();
  int32_t begin = 0;
  for (int expert = 0; expert < experts; ++expert) {
    int32_t& next = next_[static_cast<size_t>(expert)];
    if (next == 0) continue;
    groups_.push_back({expert, begin, next});
    begin += std::exchange(next, begin);
  }
  x_row_.resize(static_cast<size_t>(picks));
  out_row_.resize(static_cast<size_t>(picks));
  for (int64_t i = 0; i < picks; ++i) {
    const auto at = static_cast<size_t>(next_[static_cast<size_t>(ids[i])]++);
    x_row_[at] = static_cast<int32_t>(i / top_k);
    out_row_[at] = static_cast<int32_t>(i);
  }
}

}  // namespace hearth
