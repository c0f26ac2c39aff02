#include "kernels/linear/swiglu_avx2.h"
#include "kernels/math/exp_avx2.h"

namespace hearth::kernels::avx2 {

void SwigluRow(const float* gate, const float* up, Dim n, float limit, float* out) {
  const __m256 limits = _mm256_set1_ps(limit);
  Dim i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, Swiglu8(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i), limits));
  }
  for (; i < n; ++i) out[i] = SwigluReal(gate[i], up[i], limit);
}

}  // namespace hearth::kernels::avx2
