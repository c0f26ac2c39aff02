#pragma once

#include "kernels/expert_ffn/expert_ffn.h"

namespace hearth::kernels {

// The intermediate rows of one ExpertFfn call inside the caller's scratch, one row per pick. Strides are in Reals and
// keep rows on different cache sets.
struct ExpertScratch {
  Real* gate_in = nullptr;  // [picks, gate.in_padded], rotated for gate
  Real* up_in = nullptr;    // [picks, up.in_padded], rotated for up
  Real* mid = nullptr;      // [picks, gate.out_padded], swiglu(gate, up)
  Real* down_in = nullptr;  // [picks, down.in_padded], rotated for down
  Dim gate_stride = 0, up_stride = 0, mid_stride = 0, down_stride = 0;
};

// `memory` may be null when only the strides are wanted.
ExpertScratch LayOutExpertScratch(const MlpView& expert, Dim picks, void* memory);

}  // namespace hearth::kernels
