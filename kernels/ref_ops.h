#pragma once

#include "kernels/op_list.h"

namespace hearth::kernels::ref {

// The reference ops: plain loops in Real, one function per entry of Backend.
HEARTH_OPS(HEARTH_DECLARE_OP)
void ExpertFfn(void* stream, const ExpertFfnArgs&);
void ExpertUnit(const ExpertFfnArgs&, ExpertPhase, Dim unit, void* scratch);

}  // namespace hearth::kernels::ref
