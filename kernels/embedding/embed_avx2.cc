#include <cstring>

#include "common/base/float16.h"
#include "kernels/avx2_ops.h"
#include "kernels/linear/strip_cost.h"
#include "kernels/parallel.h"

namespace hearth::kernels::avx2 {
namespace {

void ReadRow(const EmbedArgs& args, Dim first, float* out) {
  const auto* halves = static_cast<const uint16_t*>(args.table);
  switch (args.kind) {
    case WeightKind::kF32:
      std::memcpy(out, static_cast<const float*>(args.table) + first, static_cast<size_t>(args.hidden) * sizeof(float));
      break;
    case WeightKind::kF16:
      for (Dim d = 0; d < args.hidden; ++d) out[d] = F16ToFloat(halves[first + d]);
      break;
    default:
      for (Dim d = 0; d < args.hidden; ++d) out[d] = Bf16ToFloat(halves[first + d]);
      break;
  }
}

}  // namespace

// One read per token, then copies; nothing here is worth vector code by hand.
void Embed(void*, const EmbedArgs& args) {
  ParallelFor(args.rows, GrainFor(args.hc * args.hidden * 2), [&](Dim r) {
    float* streams = args.streams + r * args.hc * args.hidden;
    ReadRow(args, args.ids[r] * args.hidden, streams);
    for (Dim h = 1; h < args.hc; ++h) {
      std::memcpy(streams + h * args.hidden, streams, static_cast<size_t>(args.hidden) * sizeof(float));
    }
  });
}

}  // namespace hearth::kernels::avx2
