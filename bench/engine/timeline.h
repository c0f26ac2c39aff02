#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "gpu_worker/model/decoder.h"

namespace hearth {

// Time per stage of the decode steps between construction and Collect(), from marks on the backend's stream. The marks
// cost some time themselves, so rates are measured without.
class Timeline {
 public:
  static constexpr size_t kStages = static_cast<size_t>(Decoder::Stage::kHead) + 1;
  static const char* NameOf(size_t stage);

  Timeline(Decoder& decoder, const kernels::Backend& backend);
  ~Timeline();
  // Before each step.
  void BeginStep();
  // Adds up the step that has just ended.
  void EndStep();
  const std::array<double, kStages>& seconds() const { return seconds_; }

 private:
  void Record(size_t stage);

  Decoder& decoder_;
  const kernels::Backend& backend_;
  std::vector<void*> marks_;
  std::vector<size_t> stage_of_;  // of the marks of this step, [0] being its begin
  std::array<double, kStages> seconds_{};
};

}  // namespace hearth
