#include "kernels/norm/norm.h"
#include "kernels/norm/scale_row_avx2.h"
#include "kernels/parallel.h"
#include "kernels/simd/grain.h"

namespace hearth::kernels::avx2 {

void RmsNorm(void*, const RmsNormArgs& args) {
  ParallelFor(args.rows, GrainFor(8 * args.dim), [&](Dim row) {
    const float* x = args.x + row * args.dim;
    ScaleRow(x, InverseRms(x, args.dim, args.eps), args.weight, args.dim, args.out + row * args.dim);
  });
}

}  // namespace hearth::kernels::avx2
