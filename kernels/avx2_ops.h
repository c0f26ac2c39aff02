#pragma once

#include "kernels/op_list.h"

namespace hearth::kernels::avx2 {

// Ops with an AVX2 version. Callers have seen HostHasAvx2().
HEARTH_OPS(HEARTH_DECLARE_OP)
void ExpertFfn(void* stream, const ExpertFfnArgs&);
void ExpertUnit(const ExpertFfnArgs&, ExpertPhase, Dim unit, void* scratch);

}  // namespace hearth::kernels::avx2
