#include "kernels/avx2_ops.h"
#include "kernels/expert_ffn/expert_batch.h"

namespace hearth::kernels {
namespace {

Backend MakeAvx2Backend() {
  Backend b = RefBackend();
  b.name = "avx2";
  b.embed = avx2::Embed;
  b.linear = avx2::Linear;
  b.head_linear = avx2::HeadLinear;
  b.swiglu = avx2::Swiglu;
  b.expert_ffn = avx2::ExpertFfn;
  b.expert_batch = ExpertBatchOneByOne<avx2::ExpertFfn>;
  b.expert_unit = avx2::ExpertUnit;

  b.hc_mix = avx2::HcMix;
  b.hc_spread = avx2::HcSpread;
  b.head_norm = avx2::HeadNorm;
  b.rms_norm = avx2::RmsNorm;
  b.short_conv = avx2::ShortConv;
  b.kda_prepare = avx2::KdaPrepare;
  b.kda_recurrent = avx2::KdaRecurrent;
  b.kda_chunked = avx2::KdaChunked;
  b.kda_output = avx2::KdaOutput;
  b.store_latents = avx2::StoreLatents;
  b.index_pool = avx2::IndexPool;
  b.index_select = avx2::IndexSelect;
  b.latent_attention = avx2::LatentAttention;
  b.router = avx2::Router;
  b.moe_combine = avx2::MoeCombine;
  return b;
}

}  // namespace

const Backend& Avx2Backend() {
  static const Backend backend = MakeAvx2Backend();
  return backend;
}

}  // namespace hearth::kernels
