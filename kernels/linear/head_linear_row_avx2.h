#pragma once

#include "kernels/real.h"

namespace hearth::kernels::avx2 {

// y [out] = x [in] W [in, out] row-major, each output one chain of fma over ascending inputs. Any alignment.
void HeadLinearRow(const float* x, const float* w, Dim in, Dim out, float* y);

}  // namespace hearth::kernels::avx2
