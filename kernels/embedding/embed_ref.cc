#include "common/base/float16.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels::ref {

void Embed(void*, const EmbedArgs& args) {
  for (Dim r = 0; r < args.rows; ++r) {
    const Dim first = args.ids[r] * args.hidden;
    for (Dim d = 0; d < args.hidden; ++d) {
      Real value = 0;
      switch (args.kind) {
        case WeightKind::kF32:
          value = static_cast<const float*>(args.table)[first + d];
          break;
        case WeightKind::kF16:
          value = F16ToFloat(static_cast<const uint16_t*>(args.table)[first + d]);
          break;
        default:
          value = Bf16ToFloat(static_cast<const uint16_t*>(args.table)[first + d]);
          break;
      }
      for (Dim h = 0; h < args.hc; ++h) args.streams[(r * args.hc + h) * args.hidden + d] = value;
    }
  }
}

}  // namespace hearth::kernels::ref
