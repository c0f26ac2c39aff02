#include "kernels/mla/mla.h"
#include "kernels/parallel.h"
#include "kernels/simd/avx2_vec.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {
namespace {

template <typename Kv>
void Store(const StoreLatentsArgs& args, Dim row) {
  const Dim slot = args.where.TokenSlot(args.where.row_sequence[row], args.where.row_position[row]);
  const float* x = args.latents + row * args.rank;
  Kv* at = static_cast<Kv*>(args.pool) + slot * args.rank;
  for (Dim i = 0; i < args.rank; i += kLanes) StoreFirst(at + i, args.rank - i, LoadFirst(x + i, args.rank - i));
}

}  // namespace

void StoreLatents(void*, const StoreLatentsArgs& args) {
  ParallelFor(args.rows, GrainFor(8 * args.rank), [&](Dim row) {
    if (args.kv_type == KvType::kF16) {
      Store<uint16_t>(args, row);
    } else {
      Store<float>(args, row);
    }
  });
}

}  // namespace hearth::kernels::avx2
