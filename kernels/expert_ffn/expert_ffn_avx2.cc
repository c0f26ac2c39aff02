#include <algorithm>
#include <cstring>

#include "kernels/avx2_ops.h"
#include "kernels/expert_ffn/expert_scratch.h"
#include "kernels/linear/strip_avx2.h"
#include "kernels/linear/strip_cost.h"
#include "kernels/linear/swiglu_avx2.h"
#include "kernels/parallel.h"
#include "kernels/thread_scratch.h"

// The frame of the AVX2 expert; compiled for any processor, like linear_avx2.cc.
namespace hearth::kernels::avx2 {
namespace {

void GateUpStrip(const ExpertFfnArgs& args, const ExpertScratch& s, Dim strip) {
  const MlpView& e = args.expert;
  float* gate = ThreadScratch(ScratchSlot::kStripSums, args.picks * kStripColumns);
  float* up = ThreadScratch(ScratchSlot::kStripSums2, args.picks * kStripColumns);
  StripProduct(e.gate, strip, s.gate_in, s.gate_stride, args.picks, gate);
  StripProduct(e.up, strip, s.up_in, s.up_stride, args.picks, up);
  for (Dim i = 0; i < args.picks; ++i) {
    SwigluRow(gate + i * kStripColumns, up + i * kStripColumns, kStripColumns, e.limit,
              s.mid + i * s.mid_stride + strip * kStripColumns);
  }
}

void DownStrip(const ExpertFfnArgs& args, const ExpertScratch& s, Dim strip) {
  const Dim first = strip * kStripColumns;
  const Dim columns = std::min(kStripColumns, args.hidden - first);
  if (columns <= 0) return;
  float* y = ThreadScratch(ScratchSlot::kStripSums, args.picks * kStripColumns);
  StripProduct(args.expert.down, strip, s.down_in, s.down_stride, args.picks, y);
  for (Dim i = 0; i < args.picks; ++i) {
    std::memcpy(args.out + args.out_row[i] * args.hidden + first, y + i * kStripColumns,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

Dim UnitCost(const ExpertFfnArgs& args, ExpertPhase phase) {
  const MlpView& e = args.expert;
  switch (phase) {
    case ExpertPhase::kRotateIn:
      return e.gate.in_padded + e.up.in_padded;
    case ExpertPhase::kRotateMid:
      return e.down.in_padded;
    case ExpertPhase::kGateUp:
      return StripCost(e.gate, args.picks) + StripCost(e.up, args.picks);
    case ExpertPhase::kDown:
      break;
  }
  return StripCost(e.down, args.picks);
}

}  // namespace

void ExpertUnit(const ExpertFfnArgs& args, ExpertPhase phase, Dim unit, void* scratch) {
  if (args.picks == 0) return;
  const ExpertScratch s = LayOutExpertScratch(args.expert, args.picks, scratch);
  switch (phase) {
    case ExpertPhase::kRotateIn: {
      const float* x = args.x + args.x_row[unit] * args.hidden;
      RotateInput(args.expert.gate, x, s.gate_in + unit * s.gate_stride);
      RotateInput(args.expert.up, x, s.up_in + unit * s.up_stride);
      break;
    }
    case ExpertPhase::kGateUp:
      GateUpStrip(args, s, unit);
      break;
    case ExpertPhase::kRotateMid:
      RotateInput(args.expert.down, s.mid + unit * s.mid_stride, s.down_in + unit * s.down_stride);
      break;
    case ExpertPhase::kDown:
      DownStrip(args, s, unit);
      break;
  }
}

void ExpertFfn(void*, const ExpertFfnArgs& args) {
  if (args.picks == 0) return;
  void* scratch = ThreadScratch(ScratchSlot::kExpert, ExpertScratchBytes(args.expert, args.picks) / 4);
  for (int p = 0; p < kExpertPhases; ++p) {
    const auto phase = static_cast<ExpertPhase>(p);
    ParallelFor(ExpertUnits(args.expert, args.picks, phase), GrainFor(UnitCost(args, phase)),
                [&](Dim unit) { ExpertUnit(args, phase, unit, scratch); });
  }
}

}  // namespace hearth::kernels::avx2
