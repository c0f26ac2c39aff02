#pragma once

#include "kernels/exl3/int16_sums_choice.h"
#include "kernels/expert_ffn/expert_kernel.h"

namespace hearth::kernels {

// The parts of the int16 expert that depend on the instruction set.
struct Int16ExpertOps {
  const char* name;
  void (*rotate)(const MatrixView&, const float* x, float* rotated);
  void (*quantize)(const float* x, int16_t* values, float* scale, int32_t* start);
  Int16SumsVariant sums;
  void (*finish)(const MatrixView&, Dim strip, Dim rows, float* y);
  // Of matrices that have no int16 form.
  void (*product)(const MatrixView&, Dim strip, const float* rotated, Dim stride, Dim rows, float* y);
  void (*swiglu)(const float* gate, const float* up, Dim n, float limit, float* out);
};

// Units: kRotateIn one matrix for one pick; kGateUp one strip of gate or up, where the later of the two goes on to
// swiglu and to down's rotated input, since a strip is exactly one block of that; kDown one strip. No kRotateMid.
class Int16Expert final : public ExpertKernel {
 public:
  explicit Int16Expert(const Int16ExpertOps& ops) : ops_(ops) {}

  const char* name() const override { return ops_.name; }
  const char* variant() const override { return ops_.sums.name; }
  Dim ScratchBytes(const MlpView& expert, Dim picks) const override;
  Dim Units(const MlpView& expert, Dim picks, ExpertPhase phase) const override;
  void Run(const ExpertFfnArgs& args, ExpertPhase phase, Dim unit, void* scratch) const override;

 private:
  struct Scratch;
  void RotateIn(const MatrixView& w, const float* x, std::byte* row) const;
  void RotateBlock(const MatrixView& w, Dim block, const float* x, std::byte* row) const;
  void Product(const MatrixView& w, Dim strip, const std::byte* rows, Dim stride, Dim count, float* y) const;
  void GateUp(const ExpertFfnArgs& args, const Scratch& s, Dim unit) const;
  void Down(const ExpertFfnArgs& args, const Scratch& s, Dim strip) const;

  const Int16ExpertOps ops_;
};

}  // namespace hearth::kernels
