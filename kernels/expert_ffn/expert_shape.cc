#include <algorithm>

#include "common/base/check.h"
#include "kernels/expert_ffn/expert_scratch.h"

namespace hearth::kernels {
namespace {

constexpr Dim kAlign = 16;  // Reals; a whole number of cache lines for float and double

Dim Stride(Dim values) { return (values + kAlign - 1) / kAlign * kAlign + kAlign; }

}  // namespace

ExpertScratch LayOutExpertScratch(const MlpView& expert, Dim picks, void* memory) {
  ExpertScratch s;
  s.gate_stride = Stride(expert.gate.in_padded);
  s.up_stride = Stride(expert.up.in_padded);
  s.mid_stride = Stride(expert.gate.out_padded);
  s.down_stride = Stride(expert.down.in_padded);
  if (memory == nullptr) return s;
  s.gate_in = static_cast<Real*>(memory);
  s.up_in = s.gate_in + picks * s.gate_stride;
  s.mid = s.up_in + picks * s.up_stride;
  s.down_in = s.mid + picks * s.mid_stride;
  return s;
}

Dim ExpertScratchBytes(const MlpView& expert, Dim picks) {
  const ExpertScratch s = LayOutExpertScratch(expert, picks, nullptr);
  return picks * (s.gate_stride + s.up_stride + s.mid_stride + s.down_stride) * static_cast<Dim>(sizeof(Real));
}

Dim ExpertUnits(const MlpView& expert, Dim picks, ExpertPhase phase) {
  HEARTH_CHECK(expert.gate.strips() == expert.up.strips(), "gate and up differ in width");
  switch (phase) {
    case ExpertPhase::kRotateIn:
    case ExpertPhase::kRotateMid:
      return std::max<Dim>(1, picks);
    case ExpertPhase::kGateUp:
      return std::max<Dim>(1, expert.gate.strips());
    case ExpertPhase::kDown:
      break;
  }
  return std::max<Dim>(1, expert.down.strips());
}

}  // namespace hearth::kernels
