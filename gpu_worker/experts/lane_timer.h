#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "gpu_worker/experts/lane_stats.h"
#include "kernels/backend.h"

namespace hearth {

// Times pieces of work on the backend's stream. What they took is known once the stream has passed their end, so a
// piece's time is handed out by the first Collect after the stream was synchronized.
class LaneTimer {
 public:
  explicit LaneTimer(const kernels::Backend& backend) : backend_(backend) {}
  ~LaneTimer() {
    for (const Piece& piece : pieces_) {
      backend_.streams->release_mark(piece.begin);
      backend_.streams->release_mark(piece.end);
    }
  }
  LaneTimer(const LaneTimer&) = delete;
  LaneTimer& operator=(const LaneTimer&) = delete;

  void Begin() {
    if (used_ == pieces_.size()) pieces_.push_back({backend_.streams->make_mark(), backend_.streams->make_mark(), {}});
    backend_.streams->record(backend_.stream, pieces_[used_].begin);
  }
  // `known` is called with the seconds.
  void End(std::function<void(double)> known) {
    backend_.streams->record(backend_.stream, pieces_[used_].end);
    pieces_[used_++].known = std::move(known);
  }
  // Everything between Begin and End so far is done.
  void Collect() {
    for (size_t i = 0; i < used_; ++i) pieces_[i].known(backend_.streams->seconds(pieces_[i].begin, pieces_[i].end));
    used_ = 0;
  }

 private:
  struct Piece {
    void* begin;
    void* end;
    std::function<void(double)> known;
  };
  const kernels::Backend& backend_;
  std::vector<Piece> pieces_;
  size_t used_ = 0;
};

inline void AddSeconds(RelaxedCounter& busy_ns, double seconds) { busy_ns.Add(static_cast<uint64_t>(seconds * 1e9)); }

}  // namespace hearth
