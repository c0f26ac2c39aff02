#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

// The picks of one expert: entries [begin, begin + picks) of the row lists.
struct PickGroup {
  int32_t expert = 0;
  int32_t begin = 0;
  int32_t picks = 0;
};

// A step's picks sorted by expert. Pure; one object is reused from step to step so that its vectors keep their room.
class PickGroups {
 public:
  // ids [rows, top_k], each in [0, experts). Groups come in ascending expert, picks of a group in ascending row.
  void Build(const int32_t* ids, int64_t rows, int top_k, int experts);

  const std::vector<PickGroup>& groups() const { return groups_; }
  std::span<const int32_t> x_rows(const PickGroup& group) const { return Slice(x_row_, group); }
  // Rows of pick_out [rows * top_k, hidden]: row * top_k + k.
  std::span<const int32_t> out_rows(const PickGroup& group) const { return Slice(out_row_, group); }
  int64_t picks() const { return static_cast<int64_t>(x_row_.size()); }

 private:
  static std::span<const int32_t> Slice(const std::vector<int32_t>& rows, const PickGroup& group) {
    return {rows.data() + group.begin, static_cast<size_t>(group.picks)};
  }
  std::vector<PickGroup> groups_;
  std::vector<int32_t> x_row_, out_row_;
  std::vector<int32_t> next_;  // per expert: where its next pick goes
};

}  // namespace hearth
