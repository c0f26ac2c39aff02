#include "kernels/expert_ffn/expert_batch.h"
#include "kernels/ref_ops.h"

namespace hearth::kernels {
namespace {

Backend MakeRefBackend() {
  Backend b;
  b.name = "ref";
  b.memory = &HostMemoryOps();
  b.streams = &HostStreamOps();
  b.embed = ref::Embed;
  b.linear = ref::Linear;
  b.head_linear = ref::HeadLinear;
  b.swiglu = ref::Swiglu;
  b.expert_ffn = ref::ExpertFfn;
  b.expert_batch = ExpertBatchOneByOne<ref::ExpertFfn>;
  b.expert_unit = ref::ExpertUnit;

  b.hc_mix = ref::HcMix;
  b.hc_spread = ref::HcSpread;
  b.head_norm = ref::HeadNorm;
  b.rms_norm = ref::RmsNorm;
  b.short_conv = ref::ShortConv;
  b.kda_prepare = ref::KdaPrepare;
  b.kda_recurrent = ref::KdaRecurrent;
  b.kda_chunked = ref::KdaChunked;
  b.kda_output = ref::KdaOutput;
  b.store_latents = ref::StoreLatents;
  b.index_pool = ref::IndexPool;
  b.index_select = ref::IndexSelect;
  b.latent_attention = ref::LatentAttention;
  b.router = ref::Router;
  b.moe_combine = ref::MoeCombine;
  return b;
}

}  // namespace

const Backend& RefBackend() {
  static const Backend backend = MakeRefBackend();
  return backend;
}

}  // namespace hearth::kernels
