#include "kernels/linear/operand_memory_cuda.h"

#include "kernels/cuda/scratch.h"

namespace hearth::kernels::cuda {
namespace {

class Cutter {
 public:
  // Without memory it only counts.
  explicit Cutter(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <typename T>
  void Cut(Dim count, T** array) {
    *array = reinterpret_cast<T*>(memory_ == nullptr ? nullptr : memory_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + 255) / 256 * 256;
  }
  size_t used() const { return used_; }

 private:
  char* memory_;
  size_t used_ = 0;
};

}  // namespace

OperandMemory::OperandMemory(void* stream, const OperandSizes& sizes) {
  const auto cut_all = [&](Cutter cutter) {
    cutter.Cut(sizes.rows, &rows);
    cutter.Cut(sizes.row_scales, &row_scales);
    cutter.Cut(sizes.tiles, &tiles);
    cutter.Cut(sizes.column_scales, &column_scales);
    cutter.Cut(sizes.gate, &gate);
    cutter.Cut(sizes.up, &up);
    cutter.Cut(sizes.row_lists, &row_lists);
    return cutter.used();
  };
  cut_all(Cutter(Scratch(stream, cut_all(Cutter(nullptr)))));
}

}  // namespace hearth::kernels::cuda
