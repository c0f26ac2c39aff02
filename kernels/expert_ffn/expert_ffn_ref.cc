#include <algorithm>
#include <vector>

#include "kernels/expert_ffn/expert_scratch.h"
#include "kernels/linear/strip_ref.h"
#include "kernels/math/exp.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels::ref {
namespace {

void GateUpStrip(const ExpertFfnArgs& args, const ExpertScratch& s, Dim strip) {
  const MlpView& e = args.expert;
  std::vector<Real> gate(args.picks * kStripColumns), up(args.picks * kStripColumns);
  StripProduct(e.gate, strip, s.gate_in, s.gate_stride, args.picks, gate.data());
  StripProduct(e.up, strip, s.up_in, s.up_stride, args.picks, up.data());
  for (Dim i = 0; i < args.picks; ++i) {
    Real* mid = s.mid + i * s.mid_stride + strip * kStripColumns;
    for (Dim c = 0; c < kStripColumns; ++c) {
      mid[c] = SwigluReal(gate[i * kStripColumns + c], up[i * kStripColumns + c], static_cast<Real>(e.limit));
    }
  }
}

void DownStrip(const ExpertFfnArgs& args, const ExpertScratch& s, Dim strip) {
  const Dim first = strip * kStripColumns;
  const Dim columns = std::min(kStripColumns, args.hidden - first);
  if (columns <= 0) return;
  std::vector<Real> y(args.picks * kStripColumns);
  StripProduct(args.expert.down, strip, s.down_in, s.down_stride, args.picks, y.data());
  for (Dim i = 0; i < args.picks; ++i) {
    std::copy_n(y.data() + i * kStripColumns, columns, args.out + args.out_row[i] * args.hidden + first);
  }
}

}  // namespace

void ExpertUnit(const ExpertFfnArgs& args, ExpertPhase phase, Dim unit, void* scratch) {
  if (args.picks == 0) return;
  const ExpertScratch s = LayOutExpertScratch(args.expert, args.picks, scratch);
  switch (phase) {
    case ExpertPhase::kRotateIn: {
      const Real* x = args.x + args.x_row[unit] * args.hidden;
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
  std::vector<Real> scratch(ExpertScratchBytes(args.expert, args.picks) / static_cast<Dim>(sizeof(Real)));
  for (int p = 0; p < kExpertPhases; ++p) {
    const auto phase = static_cast<ExpertPhase>(p);
    const Dim units = ExpertUnits(args.expert, args.picks, phase);
    for (Dim unit = 0; unit < units; ++unit) ExpertUnit(args, phase, unit, scratch.data());
  }
}

}  // namespace hearth::kernels::ref
