#pragma once

#include "kernels/backend.h"

namespace hearth::kernels::avx2 {

// Ops with an AVX2 version; what is not listed here falls back to the reference. Callers have seen HostHasAvx2().
void Embed(void*, const EmbedArgs&);
void Linear(void*, const LinearArgs&);
void HeadLinear(void*, const HeadLinearArgs&);
void Swiglu(void*, const SwigluArgs&);
void ExpertFfn(void*, const ExpertFfnArgs&);
void ExpertUnit(const ExpertFfnArgs&, ExpertPhase, Dim unit, void* scratch);

}  // namespace hearth::kernels::avx2
