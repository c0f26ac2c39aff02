#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/moe_executor.h"
#include "gpu_worker/experts/slot_arena.h"

namespace hearth {

// Up to `most` experts that hints name and that are worth fetching (`wanted`), those with the largest sum of weights
// over the rows first, ties to the lower id. Pure. `ids` and `weights` [rows, top_k].
std::vector<int32_t> ChooseAhead(const int32_t* ids, const kernels::Real* weights, int64_t rows, int top_k, int most,
                                 const std::function<bool(int32_t)>& wanted);

// Experts of the next layer, copied into buffers of their own while the bus would be idle. Everything happens in the
// order of one stream, so a buffer is read by its layer before the next layer's copies overwrite it.
class LookAhead {
 public:
  // `backend` has the stream on which experts are copied and used.
  LookAhead(const HomeView& home, const kernels::Backend& backend, int most);
  ~LookAhead() { backend_.memory->synchronize(backend_.stream); }  // copies may be under way
  LookAhead(const LookAhead&) = delete;
  LookAhead& operator=(const LookAhead&) = delete;

  int most() const { return arena_.slots(); }
  uint64_t bytes() const { return arena_.bytes(); }

  // Copies these experts of a layer, at most most(). What was fetched before is forgotten.
  void Fetch(int layer, std::vector<int32_t> experts);
  void Forget() { experts_.clear(); }
  // The expert's record if it was fetched, or null.
  const std::byte* Find(int layer, int32_t expert) const;

 private:
  const HomeView& home_;
  const kernels::Backend& backend_;
  SlotArena arena_;
  int layer_ = -1;
  std::vector<int32_t> experts_;  // in buffers 0, 1, ..
};

}  // namespace hearth
