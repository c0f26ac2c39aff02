#pragma once

#include "kernels/backend.h"

// The ops of the model graph that every backend has: X(entry of Backend, function, arguments). A backend declares them
// in its namespace with HEARTH_DECLARE_OP.
#define HEARTH_OPS(X)                                       \
  X(embed, Embed, EmbedArgs)                                \
  X(hc_mix, HcMix, HcMixArgs)                               \
  X(hc_spread, HcSpread, HcSpreadArgs)                      \
  X(head_norm, HeadNorm, HeadNormArgs)                      \
  X(rms_norm, RmsNorm, RmsNormArgs)                         \
  X(linear, Linear, LinearArgs)                             \
  X(head_linear, HeadLinear, HeadLinearArgs)                \
  X(swiglu, Swiglu, SwigluArgs)                             \
  X(short_conv, ShortConv, ShortConvArgs)                   \
  X(kda_prepare, KdaPrepare, KdaPrepareArgs)                \
  X(kda_recurrent, KdaRecurrent, KdaRuleArgs)               \
  X(kda_chunked, KdaChunked, KdaRuleArgs)                   \
  X(kda_output, KdaOutput, KdaOutputArgs)                   \
  X(store_latents, StoreLatents, StoreLatentsArgs)          \
  X(index_pool, IndexPool, IndexPoolArgs)                   \
  X(index_select, IndexSelect, IndexSelectArgs)             \
  X(latent_attention, LatentAttention, LatentAttentionArgs) \
  X(router, Router, RouterArgs)                             \
  X(moe_combine, MoeCombine, MoeCombineArgs)

#define HEARTH_DECLARE_OP(entry, function, arguments) void function(void* stream, const arguments&);
