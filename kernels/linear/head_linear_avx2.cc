#include "kernels/avx2_ops.h"
#include "kernels/linear/head_linear_row_avx2.h"
#include "kernels/linear/strip_cost.h"
#include "kernels/parallel.h"

namespace hearth::kernels::avx2 {

void HeadLinear(void*, const HeadLinearArgs& args) {
  // Head by head with its rows together: a head's matrix is read once and stays in cache.
  ParallelFor(args.heads, GrainFor(args.rows * args.in * args.out), [&](Dim h) {
    for (Dim r = 0; r < args.rows; ++r) {
      const Dim row = r * args.heads + h;
      HeadLinearRow(args.x + row * args.in, args.w + h * args.in * args.out, args.in, args.out,
                    args.y + row * args.out);
    }
  });
}

}  // namespace hearth::kernels::avx2
