#pragma once

#include "kernels/backend.h"

namespace hearth::kernels::cuda {

// The CUDA ops, one function per entry of Backend. Pointers are device pointers, or mapped host memory where reading it is
// the purpose (embedding table, expert records).
void Embed(void*, const EmbedArgs&);
void Linear(void*, const LinearArgs&);
void HeadLinear(void*, const HeadLinearArgs&);
void Swiglu(void*, const SwigluArgs&);
void ExpertBatch(void*, const ExpertBatchArgs&);

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

}  // namespace hearth::kernels::cuda
