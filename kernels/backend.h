#pragma once

#include "kernels/embedding/embedding.h"
#include "kernels/expert_ffn/expert_ffn.h"
#include "kernels/indexer/indexer.h"
#include "kernels/kda/kda.h"
#include "kernels/linear/linear.h"
#include "kernels/memory_ops.h"
#include "kernels/mixer/mixer.h"
#include "kernels/mla/mla.h"
#include "kernels/norm/norm.h"
#include "kernels/router/router.h"

namespace hearth::kernels {

// Every op of the model graph as a function. A backend fills the table once; the graph calls through it and never
// asks which backend it has. Calls are asynchronous on `stream` where the backend has streams; the host backends
// return when the work is done. Shapes are checked by the graph when it is built, kernels assume them.
//
// Pointers in arguments are to the backend's memory, except arrays of segments and of expert jobs, which are read
// before the call returns and lie on the host.
struct Backend {
  const char* name = "";
  void* stream = nullptr;  // null on the host
  const MemoryOps* memory = nullptr;
  const StreamOps* streams = nullptr;

  void (*embed)(void* stream, const EmbedArgs&) = nullptr;
  void (*hc_mix)(void* stream, const HcMixArgs&) = nullptr;
  void (*hc_spread)(void* stream, const HcSpreadArgs&) = nullptr;
  void (*head_norm)(void* stream, const HeadNormArgs&) = nullptr;
  void (*rms_norm)(void* stream, const RmsNormArgs&) = nullptr;
  void (*linear)(void* stream, const LinearArgs&) = nullptr;
  void (*head_linear)(void* stream, const HeadLinearArgs&) = nullptr;
  void (*swiglu)(void* stream, const SwigluArgs&) = nullptr;
  void (*short_conv)(void* stream, const ShortConvArgs&) = nullptr;
  void (*kda_prepare)(void* stream, const KdaPrepareArgs&) = nullptr;
  void (*kda_recurrent)(void* stream, const KdaRuleArgs&) = nullptr;
  void (*kda_chunked)(void* stream, const KdaRuleArgs&) = nullptr;
  void (*kda_output)(void* stream, const KdaOutputArgs&) = nullptr;
  void (*store_latents)(void* stream, const StoreLatentsArgs&) = nullptr;
  void (*index_pool)(void* stream, const IndexPoolArgs&) = nullptr;
  void (*index_select)(void* stream, const IndexSelectArgs&) = nullptr;
  void (*latent_attention)(void* stream, const LatentAttentionArgs&) = nullptr;
  void (*router)(void* stream, const RouterArgs&) = nullptr;
  void (*expert_ffn)(void* stream, const ExpertFfnArgs&) = nullptr;
  void (*expert_batch)(void* stream, const ExpertBatchArgs&) = nullptr;
  void (*moe_combine)(void* stream, const MoeCombineArgs&) = nullptr;

  // Host only. One unit of an expert, for callers with their own threads. `scratch` has ExpertScratchBytes, 64-byte
  // aligned.
  void (*expert_unit)(const ExpertFfnArgs&, ExpertPhase phase, Dim unit, void* scratch) = nullptr;
};

// Plain loops, obviously right.
const Backend& RefBackend();
// AVX2 + FMA + F16C, on several threads (kernels/parallel.h). Only when HostHasAvx2().
const Backend& Avx2Backend();
bool HostHasAvx2();
// AVX-512 with BW, DQ, VL, VBMI, VBMI2 and VNNI: what the AVX-512 expert kernels need.
bool HostHasAvx512();

}  // namespace hearth::kernels
