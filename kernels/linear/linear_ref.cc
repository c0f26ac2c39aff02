#include <algorithm>
#include <vector>

#include "kernels/linear/strip_ref.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels::ref {

void Linear(void*, const LinearArgs& args) {
  const MatrixView& w = args.w;
  std::vector<Real> rotated(args.rows * w.in_padded);
  std::vector<Real> strip_y(args.rows * kStripColumns);
  for (Dim r = 0; r < args.rows; ++r) RotateInput(w, args.x + r * args.x_stride, rotated.data() + r * w.in_padded);
  for (Dim strip = 0; strip < w.strips(); ++strip) {
    StripProduct(w, strip, rotated.data(), w.in_padded, args.rows, strip_y.data());
    const Dim first = strip * kStripColumns;
    const Dim columns = std::min(kStripColumns, w.out_features - first);
    for (Dim r = 0; r < args.rows && columns > 0; ++r) {
      std::copy_n(strip_y.data() + r * kStripColumns, columns, args.y + r * args.y_stride + first);
    }
  }
}

}  // namespace hearth::kernels::ref
