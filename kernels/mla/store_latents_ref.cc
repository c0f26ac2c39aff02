#include "kernels/mla/kv_element.h"

namespace hearth::kernels::ref {

void StoreLatents(void*, const StoreLatentsArgs& args) {
  for (Dim row = 0; row < args.rows; ++row) {
    const Dim slot = args.where.TokenSlot(args.where.row_sequence[row], args.where.row_position[row]);
    for (Dim i = 0; i < args.rank; ++i) {
      StoreKv(args.pool, args.kv_type, slot * args.rank + i, args.latents[row * args.rank + i]);
    }
  }
}

}  // namespace hearth::kernels::ref
