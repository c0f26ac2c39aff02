#pragma once

#include <cstdint>

#include "common/matrix/matrix_view.h"
#include "kernels/phase.h"
#include "kernels/real.h"

namespace hearth::kernels {

// One routed expert on the rows that picked it. The same function serves cache slots, zero-copy reads and cpu_tier,
// so where an expert runs cannot change a bit.
//
// Shapes    x [*, hidden] with rows chosen by x_row [picks]; out [*, hidden], pick i is written to row out_row[i]
// Numerics  fp32, rounded codebook values; see LinearArgs for the order of sums
struct ExpertFfnArgs {
  MlpView expert;
  const Real* x = nullptr;
  const int32_t* x_row = nullptr;
  Real* out = nullptr;
  const int32_t* out_row = nullptr;
  Dim picks = 0;
  Dim hidden = 0;
};

// Several experts of one layer in one call, each pick with a row of its own: no order among jobs shows in a result.
// The row lists lie on the host.
struct ExpertJob {
  MlpView expert;
  const int32_t* x_row = nullptr;    // [picks]
  const int32_t* out_row = nullptr;  // [picks]
  Dim picks = 0;
};
struct ExpertBatchArgs {
  const ExpertJob* jobs = nullptr;
  Dim job_count = 0;
  const Real* x = nullptr;
  Real* out = nullptr;
  Dim hidden = 0;
  Phase phase = Phase::kDecode;
};

// The same work cut into independent units for callers with their own threads (cpu_tier). Phases in order, all units
// of a phase before the next phase: kRotateIn, kGateUp, kRotateMid, kDown. Scratch is given by the caller.
enum class ExpertPhase { kRotateIn, kGateUp, kRotateMid, kDown };
constexpr int kExpertPhases = 4;

// Bytes of scratch for `picks` picks of an expert of this shape.
Dim ExpertScratchBytes(const MlpView& expert, Dim picks);
// Units of a phase; at least 1.
Dim ExpertUnits(const MlpView& expert, Dim picks, ExpertPhase phase);

}  // namespace hearth::kernels
