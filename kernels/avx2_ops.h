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

void HcMix(void*, const HcMixArgs&);
void HcSpread(void*, const HcSpreadArgs&);
void HeadNorm(void*, const HeadNormArgs&);
void RmsNorm(void*, const RmsNormArgs&);
void ShortConv(void*, const ShortConvArgs&);
void KdaPrepare(void*, const KdaPrepareArgs&);
void KdaRecurrent(void*, const KdaRuleArgs&);
void KdaChunked(void*, const KdaRuleArgs&);
void KdaOutput(void*, const KdaOutputArgs&);
void StoreLatents(void*, const StoreLatentsArgs&);
void IndexPool(void*, const IndexPoolArgs&);
void IndexSelect(void*, const IndexSelectArgs&);
void LatentAttention(void*, const LatentAttentionArgs&);
void Router(void*, const RouterArgs&);
void MoeCombine(void*, const MoeCombineArgs&);

}  // namespace hearth::kernels::avx2
