#include "kernels/linear/swiglu_avx2.h"

#include "kernels/avx2_ops.h"
#include "kernels/linear/strip_cost.h"
#include "kernels/parallel.h"

namespace hearth::kernels::avx2 {

void Swiglu(void*, const SwigluArgs& args) {
  constexpr Dim kValueCost = 8;
  ParallelFor(args.rows, GrainFor(args.width * kValueCost), [&](Dim r) {
    const Dim first = r * args.width;
    SwigluRow(args.gate + first, args.up + first, args.width, args.limit, args.out + first);
  });
}

}  // namespace hearth::kernels::avx2
